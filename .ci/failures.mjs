// The tests that failed or were left out, of a report that Vitest wrote as JSON, each with the beginning of its message.
//   node .ci/failures.mjs report.json
import { readFileSync } from "node:fs";
import { relative } from "node:path";

const MESSAGE_LINES = 12;

const { testResults } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const beginningOf = (message) => message.split("\n").slice(0, MESSAGE_LINES).join("\n    ");

for (const { name, message, assertionResults } of testResults) {
  const file = relative(process.cwd(), name);
  // A file that could not be loaded has a message of its own.
  if (message) console.log(`  ${file}\n    ${beginningOf(message)}`);
  for (const { status, fullName, failureMessages } of assertionResults) {
    if (status === "passed") continue;
    console.log(`  ${status}: ${file}: ${fullName}`);
    for (const failure of failureMessages) console.log(`    ${beginningOf(failure)}`);
  }
}
