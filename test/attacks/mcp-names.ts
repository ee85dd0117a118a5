import { isDeepStrictEqual } from "node:util";
import { askPatiently } from "./kept-connection.ts";

interface Message {
  readonly method: string;
  readonly params: object;
  /** What is in the answer when the text did nothing. */
  readonly expected: object;
}

const error = (code: number, message: string, data?: object): object => ({
  error: { code, message, ...(data === undefined ? {} : { data }) },
});

/** A text in every place of the protocol that no template sees: in prompts, and in place of names. */
function messagesWith(text: string): readonly Message[] {
  const shown = text === "" ? "<> nothing" : `<${text}> [${text}]`;
  const failed = `${text}: Unknown parameter not defined in endpoint configuration`;
  return [
    {
      method: "prompts/get",
      params: { name: "prompt", arguments: { v: text, [`${text} `]: text } },
      expected: {
        result: { description: "Says it", messages: [{ role: "user", content: { type: "text", text: shown } }] },
      },
    },
    { method: "prompts/get", params: { name: text }, expected: error(-32602, `Prompt not found: ${text}`) },
    { method: "tools/call", params: { name: text }, expected: error(-32602, `Unknown tool: ${text}`) },
    {
      method: "tools/call",
      params: { name: "none", arguments: { v: "x", [text]: text } },
      expected: { result: { content: [{ type: "text", text: failed }], isError: true } },
    },
    {
      method: "resources/read",
      params: { uri: text },
      expected: error(-32002, "Resource not found", { uri: text }),
    },
    {
      method: "completion/complete",
      params: { ref: { type: "ref/prompt", name: "prompt" }, argument: { name: text, value: text } },
      expected: { result: { completion: { values: [], total: 0, hasMore: false } } },
    },
    { method: "tools/list", params: { cursor: text }, expected: error(-32602, "Invalid cursor") },
    { method: text, params: {}, expected: error(-32601, `Method not found: ${text}`) },
  ];
}

/** Sends it to all of them at once, and tells where something else came back. */
export async function tryNames(url: string, text: string): Promise<readonly string[]> {
  const messages = messagesWith(text);
  const batch = messages.map(({ method, params }, id) => ({ jsonrpc: "2.0", id, method, params }));
  const { status, body } = await askPatiently(url, {
    method: "POST",
    path: "/mcp",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(batch),
  });
  const answers: readonly unknown[] = status === 200 ? JSON.parse(body) : [];
  return messages.flatMap(({ method, expected }, id) =>
    isDeepStrictEqual(answers[id], { jsonrpc: "2.0", id, ...expected })
      ? []
      : [`${method} with ${JSON.stringify(text)}: ${status} ${JSON.stringify(answers[id])}`],
  );
}
