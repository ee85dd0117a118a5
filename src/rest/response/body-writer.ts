import type { ServerResponse } from "node:http";
import type { Transform } from "node:stream";
import { RequestFailure } from "../../failure.ts";
import type { EndpointExchange } from "../exchange.ts";
import type { Compressor } from "./compressors.ts";

/** Takes the bytes of a body as fast as the client reads them: what is given waits until there is room for more. */
export interface BodyWriter {
  write(bytes: Uint8Array): Promise<void>;
  /** The last bytes; resolves when the client's side of the connection has taken all. */
  end(bytes: Uint8Array): Promise<void>;
  /** The body breaks off. Nothing is sent that could make it look complete; who holds the connection cuts it. */
  abort(): void;
}

/** A client is given so much at once: one that takes less within the time of a stalled client counts as one. */
const SLICE_BYTES = 256 * 1024;

export function openBody(exchange: EndpointExchange, compressor: Compressor | undefined): BodyWriter {
  return compressor === undefined ? plainBody(exchange) : packedBody(exchange, compressor);
}

function plainBody(exchange: EndpointExchange): BodyWriter {
  const { response } = exchange;
  return {
    write: (bytes) => writeSlices(response, bytes, exchange),
    async end(bytes) {
      await endWith(response, bytes, exchange);
      if (response.writableLength > 0) await taken(response, "finish", exchange);
    },
    abort() {},
  };
}

/** A whole body, a character for each byte (Latin-1). */
export async function sendText(text: string, exchange: EndpointExchange): Promise<void> {
  const { response } = exchange;
  response.end(text, "latin1");
  if (response.writableLength > 0) await taken(response, "finish", exchange);
}

function packedBody(exchange: EndpointExchange, compressor: Compressor): BodyWriter {
  const { response, deadline } = exchange;
  const packer = compressor.open();
  packer.on("error", () => deadline.cancel({ kind: "internal" }));
  // The pipe holds the packer back while the client does not read, and ends the response only when the packer ended.
  packer.pipe(response);
  return {
    write: (bytes) => writeSlices(packer, bytes, exchange),
    async end(bytes) {
      await endWith(packer, bytes, exchange);
      await taken(response, "finish", exchange);
    },
    abort() {
      packer.unpipe(response);
      packer.destroy();
    },
  };
}

async function writeSlices(
  to: ServerResponse | Transform,
  bytes: Uint8Array,
  exchange: EndpointExchange,
): Promise<void> {
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
    const flows = to.write(bytes.length <= SLICE_BYTES ? bytes : bytes.subarray(at, at + SLICE_BYTES));
    if (!flows) await taken(to, "drain", exchange);
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

/** Waits until what was written has been taken. A client that never does is cut off. */
function taken(
  stream: ServerResponse | Transform,
  event: "drain" | "finish",
  { response, deadline, limits }: EndpointExchange,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (done: () => void): void => {
      clearTimeout(timer);
      stream.off(event, onTaken);
      response.off("close", onClose);
      deadline.signal.removeEventListener("abort", onClose);
      done();
    };
    const onTaken = (): void => settle(resolve);
    const onClose = (): void =>
      settle(() => reject(deadline.signal.reason ?? new RequestFailure({ kind: "cancelled" })));
    const timer = setTimeout(onClose, limits.stalledClientTimeoutMs);
    // The client may have left while the last rows came; there is nothing more to hear then.
    if (deadline.signal.aborted || response.destroyed) return onClose();
    stream.on(event, onTaken);
    response.on("close", onClose);
    deadline.signal.addEventListener("abort", onClose);
  });
}
