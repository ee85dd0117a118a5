// The size of a tool result as text in each form, in bytes: what a language model reads, and is charged for.
//   npm run build && node bench/mcp-text.mjs
import { spawn } from "node:child_process";
import { join } from "node:path";
import { folderOf, root, tableSql } from "./load.mjs";

const QUERIES = {
  "one row, 8 columns": "SELECT * FROM t WHERE id = 7",
  "10 rows, 8 columns": "SELECT * FROM t ORDER BY id LIMIT 10",
  "100 rows, 8 columns": "SELECT * FROM t ORDER BY id LIMIT 100",
  "100 rows, 3 columns": "SELECT id, amount, name FROM t ORDER BY id LIMIT 100",
};
const FORMS = ["json", "markdown", "csv"];
const tableOf = tableSql.replaceAll("\n", "\n      ").replace("range(1000000)", "range(1000)");

/** The bytes of the first block of every tool. */
async function bytesOf(form) {
  const files = {
    "eider.yaml": `mcp: { result-text: ${form} }\nlog: { level: error }\nconnections:\n  t:\n    init: |\n      ${tableOf}\n`,
  };
  for (const [index, sql] of Object.values(QUERIES).entries()) {
    files[`t${index}.yaml`] =
      `mcp-tool: { name: t${index}, description: x }\nwith-pagination: false\ntemplate-source: t${index}.sql\nconnection: t\n`;
    files[`t${index}.sql`] = sql;
  }
  const args = [join(root, "bin/eider.cjs"), "mcp", "--config", join(folderOf(files), "eider.yaml")];
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  for (const index of Object.keys(Object.values(QUERIES))) {
    const params = `{"name":"t${index}"}`;
    child.stdin.write(`{"jsonrpc":"2.0","id":${index},"method":"tools/call","params":${params}}\n`);
  }
  child.stdin.end();
  let text = "";
  for await (const piece of child.stdout.setEncoding("utf8")) text += piece;
  const answers = text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))
    .filter(({ id }) => id !== undefined);
  return answers.toSorted((a, b) => a.id - b.id).map(({ result }) => Buffer.byteLength(result.content[0].text));
}

const sizes = Object.fromEntries(await Promise.all(FORMS.map(async (form) => [form, await bytesOf(form)])));
console.log("bytes of the text of a result, by mcp.result-text");
console.table(
  Object.fromEntries(
    Object.keys(QUERIES).map((name, index) => [
      name,
      Object.fromEntries(FORMS.map((form) => [form, sizes[form][index]])),
    ]),
  ),
);
