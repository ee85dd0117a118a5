import { decodeUtf8, hasControlCharacters } from "../auth/authorization.ts";
import { hashPassword as hashOf } from "../auth/password.ts";
import { errorMessage } from "../error-message.ts";
import { type Command, exitCodes, type Input, type Runtime, UsageError } from "./command.ts";

export const hashPassword: Command = {
  name: "hash-password",
  summary: "read a password and print its hash for auth.users",
  help: `Usage: eider hash-password

Reads a password and prints its hash: use it as \`password\` of a user in \`auth.users\`. On a terminal it prompts twice
and does not echo the password. From a pipe it reads the first line.

Example:
  eider hash-password
  printf '%s\\n' "$PASSWORD" | eider hash-password`,
  async run(args, runtime) {
    // The argument may be a password, so it is not repeated.
    if (args.length > 0)
      throw new UsageError("hash-password takes no arguments; it reads the password from standard input");
    const password = await readPassword(runtime);
    if (password === undefined) return exitCodes.usage;
    runtime.stdout.write(`${await hashOf(password)}\n`);
    return exitCodes.done;
  },
};

/** Undefined when the user cancels. */
async function readPassword({ stdin, stderr }: Runtime): Promise<string | undefined> {
  const input = stdin();
  const lines = readLines(input);
  try {
    if (!input.isTerminal) return decodePassword(await lines.next());
    const ask = async (prompt: string): Promise<Uint8Array | undefined> => {
      stderr.write(prompt);
      const line = await lines.next();
      stderr.write("\n");
      return line;
    };
    const first = await ask("Password: ");
    if (first === undefined) return undefined;
    const password = decodePassword(first);
    const again = await ask("Repeat password: ");
    if (again === undefined) return undefined;
    if (password !== decodeUtf8(again)) throw new UsageError("the passwords do not match");
    return password;
  } finally {
    await lines.close();
  }
}

/** Decodes a password. Rejects one that no client could send, because its hash would never match. */
function decodePassword(line: Uint8Array | undefined): string {
  if (line === undefined || line.length === 0) throw new UsageError("the password is empty");
  const password = decodeUtf8(line);
  if (password === undefined) throw new UsageError("the password is not UTF-8");
  if (hasControlCharacters(password)) {
    throw new UsageError("the password contains control characters, which HTTP Basic cannot send");
  }
  return password;
}

interface Lines {
  /** The next line, without its line break. Undefined when the user cancels. */
  next(): Promise<Uint8Array | undefined>;
  close(): Promise<void>;
}

/** More than a client could send. */
const MAX_BYTES = 8 * 1024;
const [CTRL_C, CTRL_D, BACKSPACE, LINE_FEED, RETURN, CTRL_U, DELETE] = [3, 4, 8, 10, 13, 21, 127];

function readLines(input: Input): Lines {
  const pieces = input.read()[Symbol.asyncIterator]();
  let piece: Uint8Array = new Uint8Array();
  let at = 0;

  async function nextByte(): Promise<number | undefined> {
    while (at >= piece.length) {
      const { done, value } = await pieces.next().catch((error: unknown) => {
        const reason = errorMessage(error);
        throw new UsageError(`cannot read standard input: ${reason}`);
      });
      if (done === true) return undefined;
      piece = value;
      at = 0;
    }
    return piece[at++];
  }

  async function readPipeLine(): Promise<Uint8Array> {
    const line: number[] = [];
    for (let byte = await nextByte(); byte !== undefined && byte !== LINE_FEED; byte = await nextByte()) {
      append(line, byte);
    }
    return Uint8Array.from(line.at(-1) === RETURN ? line.slice(0, -1) : line);
  }

  /** Handles editing keys, because a terminal without echo does not. */
  async function readTerminalLine(): Promise<Uint8Array | undefined> {
    let line: number[] = [];
    for (;;) {
      const byte = await nextByte();
      switch (byte) {
        case undefined:
        case CTRL_C:
        case CTRL_D:
          return undefined;
        case RETURN:
        case LINE_FEED:
          return Uint8Array.from(line);
        case BACKSPACE:
        case DELETE:
          line = withoutLastCharacter(line);
          break;
        case CTRL_U:
          line = [];
          break;
        default:
          append(line, byte);
      }
    }
  }

  return {
    next: input.isTerminal ? readTerminalLine : readPipeLine,
    async close() {
      await pieces.return?.();
    },
  };
}

function append(line: number[], byte: number): void {
  if (line.length >= MAX_BYTES) throw new UsageError(`the password is longer than ${MAX_BYTES} bytes`);
  line.push(byte);
}

/** In UTF-8, a character is a first byte and its continuation bytes. */
function withoutLastCharacter(line: readonly number[]): number[] {
  return line.slice(
    0,
    Math.max(
      0,
      line.findLastIndex((byte) => (byte & 0xc0) !== 0x80),
    ),
  );
}
