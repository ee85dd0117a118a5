import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A file on the server: its content, the status to return, or a function that sends the response. */
export type WebFile = string | Uint8Array | number | ((response: ServerResponse) => void);

export interface WebFiles extends AsyncDisposable {
  readonly url: string;
  readonly files: Map<string, WebFile>;
  /** The method, path and query of each request. */
  readonly requests: readonly string[];
  /** How many bytes of files it has sent. */
  bytesSent(): number;
}

/** A web server with files that can be changed. */
export async function startWebFiles(files: Readonly<Record<string, WebFile>> = {}): Promise<WebFiles> {
  const known = new Map(Object.entries(files));
  const requests: string[] = [];
  let sent = 0;
  const server = createServer((request, response) => {
    const { method, url = "" } = request;
    requests.push(`${method} ${url}`);
    const file = known.get(new URL(url, "http://localhost").pathname) ?? 404;
    if (typeof file === "function") return file(response);
    if (typeof file === "number") return response.writeHead(file, { "content-length": 0 }).end();
    const content = Buffer.from(file);
    const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "") ?? [];
    const part = from === undefined ? content : content.subarray(Number(from), to === "" ? undefined : Number(to) + 1);
    const range = from === undefined ? {} : { "content-range": `bytes ${from}-${to}/${content.length}` };
    response.writeHead(from === undefined ? 200 : 206, {
      "content-length": part.length,
      "accept-ranges": "bytes",
      etag: `"${createHash("sha1").update(content).digest("hex")}"`,
      ...range,
    });
    if (method === "HEAD") return response.end();
    sent += part.length;
    return response.end(part);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    files: known,
    requests,
    bytesSent: () => sent,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
