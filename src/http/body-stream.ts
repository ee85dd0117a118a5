import type { Readable } from "node:stream";
import { RequestFailure } from "../failure.ts";

/**
 * Reads the whole body of a request. Rejects with `body-too-large` as early as possible. The rest is then dropped, because
 * destroying the stream would close the connection before the response.
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
    // The client disconnected before the end of the body.
    const onClose = () => fail({ kind: "cancelled" });
    const onError = (cause: unknown) => fail({ kind: "cancelled" }, cause);
    const fail = (failure: RequestFailure["failure"], cause?: unknown) => {
      stopListening();
      stream.resume();
      reject(new RequestFailure(failure, { cause }));
    };
    const stopListening = () => {
      stream.off("data", onData).off("end", onEnd).off("close", onClose);
      // The error listener stays, because an unhandled error would end the process.
    };
    stream.on("data", onData).on("end", onEnd).on("close", onClose).on("error", onError);
  });
}
