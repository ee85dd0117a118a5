import { type Identity, identityKey } from "../auth/identity.ts";
import type { McpCore, Sender } from "./core.ts";
import { handleBatch, responseText } from "./handle-batch.ts";
import { handleMessage } from "./handle-message.ts";
import type { JsonText } from "./mcp-service.ts";
import { parseMessages } from "./message.ts";
import { CODE, errorText, oneLine } from "./protocol.ts";
import { legacyNotifications, newSession } from "./sessions.ts";

/** The client's input and output, and its identity. */
export interface StdioOptions {
  readonly input: AsyncIterable<Uint8Array | string>;
  /** Writes one line, including its line break. The output must contain nothing else. */
  readonly write: (line: string) => void;
  /**
   * The stdio transport has no authentication: the identity is set when Eider is started. With an empty one, calls that
   * require authentication are rejected.
   */
  readonly identity: Identity;
}

const MAX_LINE_LENGTH = 4 << 20;
/** All calls have the same scope, because there is only one client. */
const SCOPE = "stdio";

/** Serves one client until its input ends and all responses have been sent. */
export async function serveStdio(
  { input, write, identity }: StdioOptions,
  core: McpCore & { readonly now: () => number; readonly randomId: () => string },
): Promise<void> {
  const owner = identityKey(identity);
  const session = newSession(SCOPE, { owner, client: SCOPE }, core.now());
  const send = (message: JsonText): void => write(`${oneLine(message)}\n`);
  const admit: Sender["admit"] = (method, target) =>
    identity.size > 0
      ? { kind: "identity", identity }
      : core.state().access.admit({ method, target, authorization: undefined, address: "" });
  let closeStream: (() => void) | undefined;
  const sender = (): Sender => ({
    requestId: core.randomId(),
    address: "",
    headers: undefined,
    reply: { accepts: () => true, send, onDisconnect: () => {} },
    admit,
    session: () => session,
    openSession() {
      // Only now: a client that never initializes may not understand notifications.
      closeStream ??= core.streams.open(
        { onEvent: (event) => legacyNotifications(event, session).forEach(send), end: () => {} },
        { client: session.client, bytes: 0 },
      );
      return undefined;
    },
    cancelScope: () => SCOPE,
  });

  async function handleLine(line: string): Promise<void> {
    const parsed = await parseMessages(line);
    switch (parsed.kind) {
      case "not-json":
        return send(errorText(undefined, { code: CODE.parseError, message: "Parse error" }));
      case "bad-batch":
        return send(errorText(undefined, { code: CODE.invalidRequest, message: parsed.problem }));
      case "one": {
        const text = responseText(parsed.message, await handleMessage(parsed.message, sender(), core));
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
    const work = handleLine(line).catch((error: unknown) => core.report({ kind: "unexpected", requestId: "", error }));
    pending.add(work);
    void work.then(() => pending.delete(work));
  }
  closeStream?.();
  // Open streams would never end by themselves.
  core.streams.endAll();
  await Promise.all(pending);
}

/** Yields undefined for a line that is too long. */
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
