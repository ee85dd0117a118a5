import { spawn } from "node:child_process";
import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { deriveKey, matchesHash, parseStoredPassword } from "../../src/auth/password.ts";
import type { Input } from "../../src/cli/command.ts";
import { runCommandLine } from "../../src/cli/run.ts";
import { python, testWithPython } from "../python.ts";
import { testRuntime } from "../runtime.ts";

const PROGRAM = resolve(import.meta.dirname, "../../bin/eider.cjs");
const LINE = /^\$pbkdf2-sha256\$600000\$[\w-]{22}\$[\w-]{43}\n$/;

interface Result {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const isHashOf = (line: string, password: string): Promise<boolean> =>
  matchesHash(password, parseStoredPassword(line.trimEnd()), { derive: deriveKey, cost: 0 });

/** The real program, with something in its pipe that need not end. */
async function runPiped(pieces: readonly string[], pipe: "ends" | "stays open"): Promise<Result> {
  const child = spawn(process.execPath, [PROGRAM, "hash-password"]);
  const texts = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      texts[name] += text;
    });
  }
  for (const piece of pieces) child.stdin.write(piece);
  if (pipe === "ends") child.stdin.end();
  try {
    const code = await new Promise<number | null>((done) => child.once("close", done));
    return { code, ...texts };
  } finally {
    child.stdin.destroy();
  }
}

/** The command without a process. The pieces come one by one; `closed` says whether it left the loop as it should. */
async function runWith(
  pieces: readonly (string | Uint8Array)[],
  { isTerminal = false, args = [] as readonly string[] } = {},
): Promise<Result & { readonly closed: boolean }> {
  let closed = false;
  const stdin: Pick<Input, "isTerminal" | "read"> = {
    isTerminal,
    async *read() {
      try {
        for (const piece of pieces) yield Buffer.from(piece);
      } finally {
        closed = true;
      }
    },
  };
  const runtime = testRuntime({ cwd: "/", stdin });
  const code = await runCommandLine(["hash-password", ...args], runtime);
  return { code, stdout: runtime.stdoutText(), stderr: runtime.stderrText(), closed };
}

describe("from a pipe", () => {
  test("the program reads one line and prints one; it does not wait for the end of the pipe", async () => {
    const { code, stdout, stderr } = await runPiped(["pässword: 1\ntwo\n"], "stays open");
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(LINE);
    expect(await isHashOf(stdout, "pässword: 1")).toBe(true);
    expect(await isHashOf(stdout, "pässword: 2")).toBe(false);
  });

  test("the program with nothing in its pipe", async () => {
    const { code, stdout, stderr } = await runPiped([], "ends");
    expect([code, stdout, stderr]).toEqual([2, "", "eider: the password is empty\nTry: eider --help\n"]);
  });

  test.each([
    ["no end of line, and everything that Basic can carry", [" pä:ss\u00a0🔑 "], " pä:ss\u00a0🔑 "],
    ["in pieces, with the end of line of Windows", ["se", "", "cret\r", "\n", "more\n"], "secret"],
  ])("%s", async (_, pieces, password) => {
    const { code, stdout, stderr, closed } = await runWith(pieces);
    expect([code, stderr, closed]).toEqual([0, "", true]);
    expect(stdout).toMatch(LINE);
    expect(await isHashOf(stdout, password)).toBe(true);
  });

  test.each<[string, readonly (string | Uint8Array)[], string]>([
    ["nothing", [], "the password is empty"],
    ["an empty line", ["\nsecret\n"], "the password is empty"],
    ["an empty line of Windows", ["\r\nsecret\n"], "the password is empty"],
    ["a tab", ["sec\tret\n"], "the password contains control characters, which HTTP Basic cannot send"],
    ["a NUL", ["sec\0ret\n"], "the password contains control characters, which HTTP Basic cannot send"],
    ["no UTF-8", [Uint8Array.of(0x61, 0xff, 0x0a)], "the password is not UTF-8"],
    ["no end", Array.from({ length: 100 }, () => "x".repeat(1000)), "the password is longer than 8192 bytes"],
  ])("%s is wrong usage", async (_, pieces, message) => {
    const { code, stdout, stderr, closed } = await runWith(pieces);
    expect([code, stdout, stderr, closed]).toEqual([2, "", `eider: ${message}\nTry: eider --help\n`, true]);
  });

  test("a pipe that breaks", async () => {
    const read = (): AsyncIterable<Uint8Array> => ({
      [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error("EISDIR: read")) }),
    });
    const runtime = testRuntime({ cwd: "/", stdin: { isTerminal: false, read } });
    expect(await runCommandLine(["hash-password"], runtime)).toBe(2);
    expect(runtime.stderrText()).toContain("cannot read standard input: EISDIR: read");
  });

  test("a password as an argument is refused and not repeated", async () => {
    const { code, stdout, stderr } = await runWith([], { args: ["hunter2"] });
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain("takes no arguments");
    expect(stderr).not.toContain("hunter2");
  });
});

describe("on a terminal", () => {
  const asked = "Password: \nRepeat password: \n";

  test.each([
    ["all at once, with the other end of line, and something after it", ["secret\nsecret\nls\n"]],
    ["key by key, with corrections", [..."\x08secx\x7fretä\x7f\rwrong\x15secret\r"]],
  ])("%s", async (_, keys) => {
    const { code, stdout, stderr, closed } = await runWith(keys, { isTerminal: true });
    expect([code, stderr, closed]).toEqual([0, asked, true]);
    expect(await isHashOf(stdout, "secret")).toBe(true);
  });

  test.each([
    ["two different ones", "secret\rsecret2\r", `${asked}eider: the passwords do not match`],
    ["an empty one", "\r", "Password: \neider: the password is empty"],
    ["an arrow key", "sec\x1b[D\r", "Password: \neider: the password contains control characters"],
  ])("%s: wrong usage", async (_, keys, message) => {
    const { code, stdout, stderr, closed } = await runWith([keys], { isTerminal: true });
    expect([code, stdout, closed]).toEqual([2, "", true]);
    expect(stderr.startsWith(message)).toBe(true);
  });

  test.each([
    ["Ctrl-C", "sec\x03"],
    ["Ctrl-D", "\x04"],
    ["Ctrl-C the second time", "secret\rsec\x03"],
    ["the terminal goes away", "secret\r"],
  ])("%s: nothing is printed", async (_, keys) => {
    const { code, stdout, stderr, closed } = await runWith([keys], { isTerminal: true });
    expect([code, stdout, closed]).toEqual([2, "", true]);
    expect(asked.startsWith(stderr)).toBe(true);
  });

  /** Types into a real terminal: each answer when its question is there. Gives what the terminal showed, how it ended, and whether the terminal shows again what is typed. */
  const typeInto = `
import json, os, pty, sys, termios
program, answers = sys.argv[1:3], json.loads(sys.argv[3])
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(program[0], [*program, "hash-password"])
shown = b""
for question, answer in [*answers, [None, None]]:
    seen = len(shown)
    while question is None or question.encode() not in shown[seen:]:
        try:
            piece = os.read(terminal, 1024)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    if answer is not None:
        os.write(terminal, answer.encode())
status = os.waitpid(pid, 0)[1]
echoes = bool(termios.tcgetattr(terminal)[3] & termios.ECHO)
print(json.dumps({"shown": shown.decode(), "code": os.waitstatus_to_exitcode(status), "echoes": echoes}))
`;
  const type = (answers: readonly (readonly [string, string])[]): { shown: string; code: number; echoes: boolean } =>
    JSON.parse(python(typeInto, "", [process.execPath, PROGRAM, JSON.stringify(answers)]));

  testWithPython("pty")("the program shows nothing of what is typed", async () => {
    const { shown, code, echoes } = type([
      ["Password: ", "pässwort\r"],
      ["Repeat password: ", "pässwort\r"],
    ]);
    expect([code, echoes]).toEqual([0, true]);
    const [first, second, hash, rest] = shown.split("\r\n");
    expect([first, second, rest]).toEqual(["Password: ", "Repeat password: ", ""]);
    expect(await isHashOf(hash ?? "", "pässwort")).toBe(true);
  });

  testWithPython("pty")("Ctrl-C ends the program, and it prints nothing", () => {
    const { shown, code, echoes } = type([["Password: ", "secret\x03"]]);
    expect([code, shown, echoes]).toEqual([2, "Password: \r\n", true]);
  });
});
