/** Called for each message of the server. Its content is `bytes` from `start` to `end`; it is valid only during the call. */
export type OnMessage = (type: number, bytes: Buffer, start: number, end: number) => void;

/** Thrown for a message that would not fit into memory. */
export class MessageTooLong extends Error {
  readonly bytes: number;

  constructor(bytes: number) {
    super(`The server sends ${bytes} bytes in one message.`);
    this.name = "MessageTooLong";
    this.bytes = bytes;
  }
}

const HEADER = 5;

/** Splits the bytes of the server into messages, however they arrive. */
export function frameReader(onMessage: OnMessage, maxBytes: () => number): (chunk: Buffer) => void {
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  let needed = 0;

  function keep(rest: Buffer): void {
    pending = rest.length === 0 ? [] : [rest];
    pendingBytes = rest.length;
    needed = rest.length < HEADER ? HEADER : rest.readUInt32BE(1) + 1;
    if (needed > maxBytes()) throw new MessageTooLong(needed);
  }

  return (chunk) => {
    let bytes = chunk;
    if (pendingBytes > 0) {
      pending.push(chunk);
      pendingBytes += chunk.length;
      if (pendingBytes < needed) return;
      bytes = Buffer.concat(pending, pendingBytes);
    }
    let at = 0;
    while (bytes.length - at >= HEADER) {
      const end = at + bytes.readUInt32BE(at + 1) + 1;
      if (end > bytes.length) break;
      onMessage(bytes[at] ?? 0, bytes, at + HEADER, end);
      at = end;
    }
    keep(bytes.subarray(at));
  };
}
