/** Messages to the server, collected and sent together. */
export interface MessageWriter {
  /** Prepares a statement. Type 0: the server infers the type of the parameter. */
  parse(name: string, sql: string, types: readonly number[]): MessageWriter;
  /** Binds text values to a prepared statement. `formats`: 1 for each column to be returned in binary form, otherwise 0. */
  bind(name: string, values: readonly (string | null)[], formats: readonly number[]): MessageWriter;
  describeStatement(name: string): MessageWriter;
  /** Runs what was bound, up to this many rows. 0: all. */
  execute(maxRows: number): MessageWriter;
  closeStatement(name: string): MessageWriter;
  sync(): MessageWriter;
  take(): Buffer;
}

const HEADER = 5;

export function openMessageWriter(): MessageWriter {
  let buffer = Buffer.allocUnsafe(512);
  let at = 0;

  function reserve(bytes: number): void {
    if (at + bytes <= buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(at + bytes, buffer.length * 2));
    buffer.copy(larger, 0, 0, at);
    buffer = larger;
  }

  function begin(type: string): number {
    reserve(HEADER);
    buffer[at] = type.charCodeAt(0);
    at += HEADER;
    return at;
  }

  /** The length counts itself, but not the type before it. */
  function end(start: number): MessageWriter {
    buffer.writeInt32BE(at - start + 4, start - 4);
    return writer;
  }

  function int16(value: number): void {
    reserve(2);
    at = buffer.writeInt16BE(value, at);
  }

  function int32(value: number): void {
    reserve(4);
    at = buffer.writeInt32BE(value, at);
  }

  function text(value: string): void {
    reserve(value.length * 3 + 1);
    at += buffer.write(value, at);
    buffer[at++] = 0;
  }

  function value(content: string | null): void {
    if (content === null) {
      int32(-1);
      return;
    }
    reserve(4 + content.length * 3);
    const written = buffer.write(content, at + 4);
    buffer.writeInt32BE(written, at);
    at += 4 + written;
  }

  const writer: MessageWriter = {
    parse(name, sql, types) {
      const start = begin("P");
      text(name);
      text(sql);
      int16(types.length);
      for (const type of types) int32(type);
      return end(start);
    },
    bind(name, values, formats) {
      const start = begin("B");
      text("");
      text(name);
      // No formats: all values are text.
      int16(0);
      int16(values.length);
      for (const each of values) value(each);
      int16(formats.length);
      for (const format of formats) int16(format);
      return end(start);
    },
    describeStatement(name) {
      const start = begin("D");
      reserve(1);
      buffer[at++] = "S".charCodeAt(0);
      text(name);
      return end(start);
    },
    execute(maxRows) {
      const start = begin("E");
      text("");
      int32(maxRows);
      return end(start);
    },
    closeStatement(name) {
      const start = begin("C");
      reserve(1);
      buffer[at++] = "S".charCodeAt(0);
      text(name);
      return end(start);
    },
    sync: () => end(begin("S")),
    take: () => buffer.subarray(0, at),
  };
  return writer;
}

/** Ends a COPY FROM STDIN, which has no rows to send. The Sync before it was ignored. */
export const REFUSE_COPY: Buffer = Buffer.concat([Buffer.from([0x66, 0, 0, 0, 5, 0]), Buffer.from([0x53, 0, 0, 0, 4])]);

export const TERMINATE: Buffer = Buffer.from([0x58, 0, 0, 0, 4]);
