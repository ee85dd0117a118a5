import type { ServerResponse } from "node:http";
import type { Transform } from "node:stream";
import { RequestFailure } from "../../failure.ts";
import type { EndpointExchange } from "../exchange.ts";
import type { Compressor } from "./compressors.ts";

/** Writes a body with back-pressure: each write waits until there is room for more. */
export interface BodyWriter {
  write(bytes: Uint8Array): Promise<void>;
  /** Writes the last bytes. Resolves when all bytes have been handed to the operating system. */
  end(bytes: Uint8Array): Promise<void>;
  /** Aborts the body. Sends nothing that could make it look complete; the caller closes the connection. */
  abort(): void;
}

/** Bytes per write. A client that does not read this much within the stalled-client timeout is stalled. */
const SLICE_BYTES = 256 * 1024;

export function openBody(exchange: EndpointExchange, compressor: Compressor | undefined): BodyWriter {
  return compressor === undefined ? plainBody(exchange) : compressedBody(exchange, compressor);
}

function plainBody(exchange: EndpointExchange): BodyWriter {
  const { response } = exchange;
  return {
    write: (bytes) => writeSlices(response, bytes, exchange),
    async end(bytes) {
      await endWith(response, bytes, exchange);
      if (response.writableLength > 0) await waitFor(response, "finish", exchange);
    },
    abort() {},
  };
}

/** Sends a whole body, one character per byte (Latin-1). */
export async function sendText(text: string, exchange: EndpointExchange): Promise<void> {
  const { response } = exchange;
  response.end(text, "latin1");
  if (response.writableLength > 0) await waitFor(response, "finish", exchange);
}

function compressedBody(exchange: EndpointExchange, compressor: Compressor): BodyWriter {
  const { response, deadline } = exchange;
  const compression = compressor.open();
  compression.on("error", () => deadline.cancel({ kind: "internal" }));
  // The pipe applies back-pressure while the client does not read, and ends the response after the last compressed byte.
  compression.pipe(response);
  return {
    write: (bytes) => writeSlices(compression, bytes, exchange),
    async end(bytes) {
      await endWith(compression, bytes, exchange);
      await waitFor(response, "finish", exchange);
    },
    abort() {
      compression.unpipe(response);
      compression.destroy();
    },
  };
}

async function writeSlices(
  to: ServerResponse | Transform,
  bytes: Uint8Array,
  exchange: EndpointExchange,
): Promise<void> {
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
    const hasRoom = to.write(bytes.length <= SLICE_BYTES ? bytes : bytes.subarray(at, at + SLICE_BYTES));
    if (!hasRoom) await waitFor(to, "drain", exchange);
  }
}

async function endWith(to: ServerResponse | Transform, bytes: Uint8Array, exchange: EndpointExchange): Promise<void> {
  if (bytes.length <= SLICE_BYTES) {
    to.end(bytes);
    return;
  }
  await writeSlices(to, bytes, exchange);
  to.end();
}

/** Waits for `event`. Rejects if the client stalls or disconnects, or if the call is stopped. */
function waitFor(
  stream: ServerResponse | Transform,
  event: "drain" | "finish",
  { response, deadline, limits }: EndpointExchange,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (done: () => void): void => {
      clearTimeout(timer);
      stream.off(event, onEvent);
      response.off("close", onClose);
      deadline.signal.removeEventListener("abort", onClose);
      done();
    };
    const onEvent = (): void => settle(resolve);
    const onClose = (): void =>
      settle(() => reject(deadline.signal.reason ?? new RequestFailure({ kind: "cancelled" })));
    const timer = setTimeout(onClose, limits.stalledClientTimeoutMs);
    // The client may have disconnected while the last rows were read. Then no event follows.
    if (deadline.signal.aborted || response.destroyed) return onClose();
    stream.on(event, onEvent);
    response.on("close", onClose);
    deadline.signal.addEventListener("abort", onClose);
  });
}
