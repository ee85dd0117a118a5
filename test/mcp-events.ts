/** Reads the messages of an event stream, one by one. */
export interface EventReader {
  /** The next message. Undefined at the end of the stream. */
  next(): Promise<unknown>;
  /** All remaining messages. */
  rest(): Promise<readonly unknown[]>;
  /** Disconnects. */
  disconnect(): Promise<void>;
}

export function readEvents({ body }: Response): EventReader {
  if (body === null) throw new Error("no body");
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  async function next(): Promise<unknown> {
    for (;;) {
      const end = text.indexOf("\n\n");
      if (end >= 0) {
        const event = text.slice(0, end);
        text = text.slice(end + 2);
        const data = event.split("\n").filter((line) => line.startsWith("data: "));
        // A comment only keeps the connection alive.
        if (data.length > 0) return JSON.parse(data.map((line) => line.slice(6)).join("\n"));
        continue;
      }
      const { done, value } = await reader.read();
      if (done) return undefined;
      text += decoder.decode(value, { stream: true });
    }
  }
  return {
    next,
    async rest() {
      const messages: unknown[] = [];
      for (let message = await next(); message !== undefined; message = await next()) messages.push(message);
      return messages;
    },
    disconnect: () => reader.cancel(),
  };
}
