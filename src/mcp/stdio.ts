import { type Identity, identityKey } from "../auth/identity.ts";
import type { McpCore, Sender } from "./core.ts";
import { answerText, handleBatch } from "./handle-batch.ts";
import { handleMessage } from "./handle-message.ts";
import type { JsonText } from "./mcp-service.ts";
import { parseMessages } from "./message.ts";
import { CODE, errorText, oneLine } from "./protocol.ts";
import { FIRST_LOG_LEVEL, legacyNotice, newSession } from "./sessions.ts";

/** Where one client is at the other end of two pipes. */
export interface StdioOptions {
  readonly input: AsyncIterable<Uint8Array | string>;
  /** Each is a line, with its end. Nothing else may stand in the output. */
  readonly write: (line: string) => void;
  /**
   * Nobody shows credentials here: who started us is who it says. One who says nothing may have what the gate lets
   * everybody have.
   */
  readonly identity: Identity;
}

const MAX_LINE_LENGTH = 4 << 20;
/** Of all calls, because there is one client. */
const SCOPE = "stdio";
/** Until it has said `initialize` it may be a script that expects nothing but answers. */
const SILENT = Number.POSITIVE_INFINITY;

/** Serves one client until its input ends and everything that it asked has been answered. */
export async function serveStdio(
  { input, write, identity }: StdioOptions,
  core: McpCore & { readonly now: () => number; readonly randomId: () => string },
): Promise<void> {
  const owner = identityKey(identity);
  const session = newSession(SCOPE, { owner, client: SCOPE }, core.now());
  session.logLevel = SILENT;
  const send = (message: JsonText): void => write(`${oneLine(message)}\n`);
  const admit: Sender["admit"] = (method, target) =>
    identity.size > 0
      ? { kind: "identity", identity }
      : core.state().gate.admit({ method, target, authorization: undefined, address: "" });
  let leave: (() => void) | undefined;
  const sender = (): Sender => ({
    requestId: core.randomId(),
    address: "",
    headers: undefined,
    reply: { takes: () => true, send, onLeave: () => {} },
    admit,
    session: () => session,
    openSession() {
      if (session.logLevel === SILENT) session.logLevel = FIRST_LOG_LEVEL;
      // A client that never says so does not know what to do with what it did not ask for.
      leave ??= core.streams.open(
        { hear: (event) => legacyNotice(event, session).forEach(send), end: () => {} },
        { client: session.client, bytes: 0 },
      );
      return undefined;
    },
    cancelScope: () => SCOPE,
  });

  async function answerLine(line: string): Promise<void> {
    const parsed = await parseMessages(line);
    switch (parsed.kind) {
      case "not-json":
        return send(errorText(undefined, { code: CODE.parseError, message: "Parse error" }));
      case "bad-batch":
        return send(errorText(undefined, { code: CODE.invalidRequest, message: parsed.problem }));
      case "one": {
        const text = answerText(parsed.message, await handleMessage(parsed.message, sender(), core));
        if (text !== undefined) send(text);
        return;
      }
      case "batch": {
        const { body } = await handleBatch(parsed.messages, sender(), core);
        if (body !== undefined) send(body);
      }
    }
  }

  const pending = new Set<Promise<void>>();
  for await (const line of linesOf(input)) {
    if (line === undefined) {
      send(errorText(undefined, { code: CODE.invalidRequest, message: "Invalid Request: the line is too long" }));
      continue;
    }
    if (line.trim() === "") continue;
    const work = answerLine(line).catch((error: unknown) => core.report({ kind: "unexpected", requestId: "", error }));
    pending.add(work);
    void work.then(() => pending.delete(work));
  }
  leave?.();
  // Streams would stay open for ever.
  core.streams.endAll();
  await Promise.all(pending);
}

/** Undefined stands for a line that is too long. */
async function* linesOf(input: AsyncIterable<Uint8Array | string>): AsyncGenerator<string | undefined> {
  const decoder = new TextDecoder();
  let rest = "";
  let isTooLong = false;
  for await (const chunk of input) {
    rest += typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true });
    for (let end = rest.indexOf("\n"); end >= 0; end = rest.indexOf("\n")) {
      const line = rest.slice(0, end);
      rest = rest.slice(end + 1);
      yield isTooLong || line.length > MAX_LINE_LENGTH ? undefined : line;
      isTooLong = false;
    }
    if (rest.length <= MAX_LINE_LENGTH) continue;
    isTooLong = true;
    rest = "";
  }
  yield isTooLong ? undefined : rest + decoder.decode();
}
