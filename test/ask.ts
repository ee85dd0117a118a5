import { type IncomingHttpHeaders, request } from "node:http";

/** A response as received, without decompression. */
export interface RawResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** False if the connection closed before the end of the body. */
  readonly complete: boolean;
}

/** Sends one request over a new connection, with only these headers. */
export function sendRequest(
  url: string,
  { method = "GET", headers = {} }: { readonly method?: string; readonly headers?: Record<string, string> } = {},
): Promise<RawResponse> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      // An incomplete body is reported as `complete: false`.
      response.on("error", () => {});
      response.on("close", () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: Buffer.concat(chunks),
          complete: response.complete,
        }),
      );
    });
    outgoing.on("error", reject);
    outgoing.end();
  });
}
