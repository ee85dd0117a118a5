import { writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { parseExact } from "../client/runtime/exact-json.ts";
import { isRecord, type JsonRecord, type JsonValue, jsonText } from "../config/expected-value.ts";
import { readTextFile } from "../config/files.ts";
import { errorMessage } from "../error-message.ts";
import { type Difference, differencesOf } from "./differences.ts";
import type { TestResponse } from "./send-request.ts";

/** `update`: stored responses are replaced. `add`: new ones are stored. `check`: a new one is a difference. */
export type SnapshotMode = "update" | "add" | "check";

/** The stored responses of one test file. */
export interface Snapshots {
  check(test: string, response: TestResponse): readonly Difference[];
  /** Writes what is new. With `update`, drops what none of these tests uses. Returns the number of stored responses that changed. */
  save(tests: readonly string[]): Promise<number>;
}

/** The file beside a test file, such as `customers.test.snap.json`. */
function snapshotFile(testFile: string): string {
  return testFile.replace(/\.ya?ml$/i, ".snap.json");
}

export function openSnapshots(testFile: string, mode: SnapshotMode): Snapshots {
  const path = snapshotFile(testFile);
  const { responses, problem } = readStored(path);
  const stored = new Map(Object.entries(responses));
  let changes = 0;

  function store(test: string, value: JsonValue): readonly Difference[] {
    stored.set(test, value);
    changes += 1;
    return [];
  }

  return {
    check(test, { status, body }) {
      const received = { status, body };
      if (problem !== undefined && mode !== "update") {
        return [{ path: ["snapshot"], expected: `stored responses in ${basename(path)}`, received: problem }];
      }
      const expected = stored.get(test);
      if (expected === undefined) {
        if (mode !== "check") return store(test, received);
        const missing = "a stored response; run with --update, then commit the file";
        return [{ path: ["snapshot"], expected: missing, received: "none, and none is stored where CI is set" }];
      }
      const found = differencesOf(expected, received);
      if (found.length > 0 && mode === "update") return store(test, received);
      return found.map((difference) => ({ ...difference, path: ["snapshot", ...difference.path] }));
    },
    async save(tests) {
      const unused = mode === "update" ? [...stored.keys()].filter((test) => !tests.includes(test)) : [];
      for (const test of unused) stored.delete(test);
      changes += unused.length;
      if (changes > 0) await writeFile(path, `${jsonText(Object.fromEntries(stored), "  ")}\n`);
      return changes;
    },
  };
}

interface Stored {
  readonly responses: JsonRecord;
  /** Why the file cannot be read. */
  readonly problem: string | undefined;
}

function readStored(path: string): Stored {
  const text = readTextFile(path);
  if (text === undefined) return { responses: {}, problem: undefined };
  try {
    // JSON consists of these types only.
    const stored = parseExact(text, "json") as JsonValue;
    if (isRecord(stored)) return { responses: stored, problem: undefined };
    return { responses: {}, problem: "it is not a JSON object" };
  } catch (error) {
    return { responses: {}, problem: errorMessage(error) };
  }
}
