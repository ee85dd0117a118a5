import { execFile, spawnSync } from "node:child_process";
import { chmod, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { commands } from "../../src/cli/index.ts";
import { testNeeding } from "../needing.ts";
import { type Files, folderWith, runHere } from "./program.ts";

const files: Files = {
  "eider.yaml": "connections: { db: {} }\nmcp: {}\n",
  "customers.yaml":
    "url-path: /customers/:id\ntemplate-source: a.sql\nconnection: [db]\nrequest: [{ field-name: id, field-in: path, required: true }]\n",
  "cities.yaml":
    "url-path: /cities\ntemplate-source: a.sql\nconnection: [db]\nmcp-tool: { name: find_cities, description: finds cities }\n",
  "a.sql": "SELECT 1 AS one",
};

const other: Files = {
  "eider.yaml": "connections: { db: {} }\n",
  "only.yaml": "url-path: /only\ntemplate-source: a.sql\nconnection: [db]\n",
  "a.sql": "SELECT 1 AS one",
};

const missing = (shell: string): string | undefined =>
  spawnSync(shell, ["-c", "exit 0"]).status === 0 ? undefined : `${shell} is not installed`;

/** The words of a command line that is being typed. An empty last word is one that has not begun. */
type Typed = readonly string[];

/** Runs a script of a shell, after the completion script, and returns its output, one line per completion, sorted. */
async function complete(shell: "bash" | "zsh" | "fish", script: string): Promise<readonly string[]> {
  await using folder = await folderWith(files);
  await using bin = await folderWith({
    eider: `#!/bin/sh\nexec '${process.execPath}' '${resolve("bin/eider.cjs")}' "$@"\n`,
  });
  await chmod(join(bin.path, "eider"), 0o755);
  const { stdout: source } = await runHere({}, { args: ["completion", shell] });
  await writeFile(join(bin.path, "source"), source);
  const options = {
    cwd: folder.path,
    env: { PATH: `${bin.path}:${process.env["PATH"]}`, HOME: bin.path, TERM: "dumb" },
  };
  const { stdout, stderr } = await promisify(execFile)(
    shell,
    ["-c", script.replace("SOURCE", join(bin.path, "source"))],
    options,
  );
  expect(stderr).toBe("");
  return stdout
    .split("\n")
    .filter((line) => line !== "")
    .sort();
}

const quoted = (text: string): string => `'${text}'`;

/** What readline would do: it calls the function that the script registered. */
function completeInBash(typed: Typed): Promise<readonly string[]> {
  const line = typed.join(" ");
  return complete(
    "bash",
    `set -u; source SOURCE; set +u
     complete -p eider | grep -q -- '-F _eider eider' || echo not registered
     COMP_LINE=${quoted(line)} COMP_POINT=${line.length}; _eider; printf '%s\\n' "\${COMPREPLY[@]}"`,
  );
}

/** The completion system calls the function, with these variables. What it offers is printed instead. */
function completeInZsh(typed: Typed): Promise<readonly string[]> {
  return complete(
    "zsh",
    `compdef() { registered=$2; }
     compadd() { shift; for each in "$@"; do [[ $each == \${words[CURRENT]}* ]] && print -r -- $each; done; true; }
     _describe() { local each; for each in "\${(@P)2}"; do compadd -- "\${each%%:*}"; done; }
     _files() { print files; }
     source SOURCE; [[ $registered == eider ]] || print not registered
     words=(${typed.map(quoted).join(" ")}) CURRENT=${typed.length}; _eider`,
  );
}

async function completeInFish(typed: Typed): Promise<readonly string[]> {
  const lines = await complete("fish", `source SOURCE; complete -C ${quoted(typed.join(" "))}`);
  return lines.map((line) => line.split("\t")[0] ?? "");
}

describe.each([
  ["bash", completeInBash],
  ["zsh", completeInZsh],
  ["fish", completeInFish],
] as const)("completion in %s", (shell, completed) => {
  const testShell = testNeeding(missing(shell));

  testShell("of commands", async () => {
    expect(await completed(["eider", "c"])).toEqual(["cache", "call", "check", "client", "completion"]);
    const all = await completed(["eider", ""]);
    expect(all).toEqual(commands.map(({ name }) => name).sort());
  });

  testShell("of the options of a command, and their values", async () => {
    expect(await completed(["eider", "explain", "--a"])).toEqual(["--analyze"]);
    expect(await completed(["eider", "call", "--format", "a"])).toEqual(["arrow"]);
    expect(await completed(["eider", "serve", "--log-format", ""])).toEqual(["json", "pretty"]);
    expect(await completed(["eider", "cache", "re"])).toEqual(["refresh"]);
    expect(await completed(["eider", "schema", ""])).toEqual(["endpoint", "main", "test"]);
  });

  testShell("of the endpoints and tools of the project", async () => {
    expect(await completed(["eider", "call", ""])).toEqual(["/cities", "/customers/:id", "find_cities"]);
    await using project = await folderWith(other);
    expect(await completed(["eider", "explain", "/ci"])).toEqual(["/cities"]);
    expect(await completed(["eider", "call", "--config", join(project.path, "eider.yaml"), "/"])).toEqual(["/only"]);
    expect(await completed(["eider", "call", "/cities", ""])).toEqual([]);
  });
});

testNeeding(missing("bash"))("bash completes what follows a colon", async () => {
  expect(await completeInBash(["eider", "call", "/customers/:"])).toEqual(["id"]);
});

test("names of a project with problems are those of its valid endpoints; without a project, there are none", async () => {
  const broken = { ...files, "broken.yaml": "url-path: nonsense\n" };
  const names = await runHere(broken, { args: ["completion", "names"] });
  expect([names.code, names.stdout]).toEqual([0, expect.stringMatching(/^\/cities\n\/customers\/:id\n/)]);
  expect(await runHere({}, { args: ["completion", "names"] })).toMatchObject({ code: 1, stdout: "" });
  expect(await runHere({}, { args: ["completion", "tcsh"] })).toMatchObject({
    code: 2,
    stderr: "eider: completion: expected one of bash, zsh, fish, names\nTry: eider --help\n",
  });
});
