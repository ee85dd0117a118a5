import type { Readable } from "node:stream";
import { RequestFailure } from "../failure.ts";

/**
 * The whole body of a request, or a `body-too-large` failure as soon as it is known. The stream is never destroyed, for
 * that would take the connection with it and the client would see no response; what still comes is dropped.
 */
export function readBody(stream: Readable, contentLength: string | undefined, maxBytes: number): Promise<Buffer> {
  if (Number(contentLength ?? 0) > maxBytes) {
    stream.resume();
    return Promise.reject(new RequestFailure({ kind: "body-too-large" }));
  }
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      if (size > maxBytes) fail({ kind: "body-too-large" });
      else chunks.push(chunk);
    };
    const onEnd = () => {
      stopListening();
      const [only] = chunks;
      resolve(only !== undefined && chunks.length === 1 ? only : Buffer.concat(chunks, size));
    };
    // The connection broke before the end.
    const onClose = () => fail({ kind: "cancelled" });
    const onError = (cause: unknown) => fail({ kind: "cancelled" }, cause);
    const fail = (failure: RequestFailure["failure"], cause?: unknown) => {
      stopListening();
      stream.resume();
      reject(new RequestFailure(failure, { cause }));
    };
    const stopListening = () => {
      stream.off("data", onData).off("end", onEnd).off("close", onClose);
      // The listener for errors stays: an unhandled one would end the process.
    };
    stream.on("data", onData).on("end", onEnd).on("close", onClose).on("error", onError);
  });
}
