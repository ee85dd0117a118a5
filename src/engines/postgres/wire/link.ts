import { frameReader, MessageTooLong } from "./frames.ts";
import { REFUSE_COPY, TERMINATE } from "./messages.ts";
import { ConnectionLost, type PostgresError, readError } from "./postgres-error.ts";

/** A column as the server describes it. */
export interface Field {
  readonly name: string;
  readonly type: number;
  /** Length or precision of the type, -1 if there is none. */
  readonly modifier: number;
}

/** Receives the results of statements. If it throws, the exchange rejects with that error. */
export interface Receiver {
  /** A row: `bytes` from `start` on, valid only during the call. */
  row?(bytes: Buffer, start: number): void;
  /** A statement is complete. Undefined: it stopped at the maximum number of rows. */
  complete?(tag: string | undefined): void;
  described?(fields: readonly Field[]): void;
  /** Called after one of the others has thrown. */
  onRejected?(): void;
}

/** `idle`, in a transaction, or in one that failed. */
export type TransactionState = "idle" | "open" | "failed";

/** The part of a socket that a link needs. */
export interface LinkSocket {
  on(event: string, listener: (...args: never[]) => void): unknown;
  write(bytes: Uint8Array): boolean;
  end(bytes: Uint8Array): unknown;
  pause(): unknown;
  resume(): unknown;
  destroy(): unknown;
  ref(): unknown;
  unref(): unknown;
}

/** A connection to the server. One exchange at a time. */
export interface Link {
  /** Sends messages that end with Sync, and resolves when the server is ready again. Rejects with the first error. */
  exchange(messages: Buffer, receiver: Receiver): Promise<void>;
  /** While paused, the server stops sending as soon as the buffers of both sides are full. */
  pause(): void;
  resume(): void;
  state(): TransactionState;
  /** Why it can no longer be used. */
  lost(): Error | undefined;
  onLost(listener: () => void): void;
  onNotification(listener: (channel: string) => void): void;
  close(): void;
}

const STATES: Readonly<Record<number, TransactionState>> = { 73: "idle", 84: "open", 69: "failed" };

interface Exchange {
  readonly receiver: Receiver;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
  error: { readonly cause: unknown } | undefined;
}

/** Speaks the protocol over a socket that has logged in. `maxMessageBytes` limits what one message may take in memory. */
export function openLink(socket: LinkSocket, maxMessageBytes: () => number): Link {
  let current: Exchange | undefined;
  let state: TransactionState = "idle";
  let lost: Error | undefined;
  let whenLost = (): void => {};
  let notified = (_channel: string): void => {};
  let lastError: PostgresError | undefined;

  const read = frameReader(handle, maxMessageBytes);

  function handle(type: number, bytes: Buffer, start: number, end: number): void {
    switch (type) {
      case 0x44: // DataRow
        receive(({ row }) => row?.(bytes, start));
        break;
      case 0x43: // CommandComplete
        receive(({ complete }) => complete?.(bytes.toString("latin1", start, end - 1)));
        break;
      case 0x49: // EmptyQueryResponse
        receive(({ complete }) => complete?.(""));
        break;
      case 0x73: // PortalSuspended
        receive(({ complete }) => complete?.(undefined));
        break;
      case 0x54: // RowDescription
        receive(({ described }) => described?.(readFields(bytes, start)));
        break;
      case 0x5a: // ReadyForQuery
        state = STATES[bytes[start] ?? 0] ?? "failed";
        finish();
        break;
      case 0x45: // ErrorResponse
        lastError = readError(bytes, start, end);
        if (current !== undefined) current.error ??= { cause: lastError };
        break;
      case 0x47: // CopyInResponse
        socket.write(REFUSE_COPY);
        break;
      case 0x41: // NotificationResponse: the sender's process, the channel, the payload.
        notified(bytes.toString("utf8", start + 4, bytes.indexOf(0, start + 4)));
        break;
      default:
        break;
    }
  }

  function receive(pass: (receiver: Receiver) => void): void {
    if (current === undefined || current.error !== undefined) return;
    try {
      pass(current.receiver);
    } catch (cause) {
      current.error = { cause };
      current.receiver.onRejected?.();
    }
  }

  function finish(): void {
    const done = current;
    current = undefined;
    socket.unref();
    if (done?.error !== undefined) done.reject(done.error.cause);
    else done?.resolve();
  }

  function lose(error: Error): void {
    if (lost !== undefined) return;
    lost = error;
    socket.destroy();
    const open = current;
    current = undefined;
    open?.reject(open.error?.cause ?? error);
    whenLost();
  }

  socket.on("data", (chunk: Buffer) => {
    try {
      read(chunk);
    } catch (error) {
      if (!(error instanceof MessageTooLong)) throw error;
      lose(error);
    }
  });
  socket.on("error", (error: Error) => lose(new ConnectionLost(error.message)));
  socket.on("close", () => lose(new ConnectionLost(lastError?.message ?? "the server closed the connection")));
  // An idle connection must not keep the process from ending.
  socket.unref();

  return {
    exchange(messages, receiver) {
      if (lost !== undefined) return Promise.reject(lost);
      if (current !== undefined) throw new Error("a connection runs one exchange at a time");
      return new Promise<void>((resolve, reject) => {
        current = { receiver, resolve, reject, error: undefined };
        socket.ref();
        socket.write(messages);
      });
    },
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    state: () => state,
    lost: () => lost,
    onLost(listener) {
      whenLost = listener;
    },
    onNotification(listener) {
      notified = listener;
    },
    close() {
      if (lost !== undefined) return;
      const error = new ConnectionLost("the connection is closed");
      if (current === undefined) {
        lost = error;
        socket.end(TERMINATE);
      } else lose(error);
    },
  };
}

function readFields(bytes: Buffer, start: number): readonly Field[] {
  let at = start + 2;
  return Array.from({ length: bytes.readInt16BE(start) }, () => {
    const end = bytes.indexOf(0, at);
    const name = bytes.toString("utf8", at, end);
    // The table and the number of its column come before the type; the length of the type and the format around its modifier.
    const type = bytes.readUInt32BE(end + 7);
    const modifier = bytes.readInt32BE(end + 13);
    at = end + 19;
    return { name, type, modifier };
  });
}
