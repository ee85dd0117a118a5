import { type IncomingHttpHeaders, request } from "node:http";

/** An answer as it came over the wire: nothing is unpacked. */
export interface BareAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** False when the connection ended before the body did. */
  readonly complete: boolean;
}

/** One request over a connection of its own, with no headers but these. */
export function ask(
  url: string,
  { method = "GET", headers = {} }: { readonly method?: string; readonly headers?: Record<string, string> } = {},
): Promise<BareAnswer> {
  return new Promise((resolve, reject) => {
    const asking = request(url, { method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      // Whether it broke off is told by `complete`.
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
    asking.on("error", reject);
    asking.end();
  });
}
