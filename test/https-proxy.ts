import { once } from "node:events";
import { createServer as createHttpServer, request as httpRequest, type RequestListener } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { makeCertificate } from "./certificates.ts";

/** A proxy that leads all hosts to one server on this machine, so that a test can use the URLs of the real ones. */
export interface HttpsProxy extends AsyncDisposable {
  /** Host and port. */
  readonly address: string;
  /** The certificate to trust, as PEM. */
  readonly certificate: string;
}

export async function startHttpsProxy(hosts: readonly string[], handle: RequestListener): Promise<HttpsProxy> {
  const certificate = makeCertificate({ name: "tests", hosts });
  const server = createHttpsServer(certificate, handle);
  const proxy = createHttpServer();
  proxy.on("connect", (_, client) => {
    const { port } = server.address() as AddressInfo;
    const tunnel = connect(port, "127.0.0.1", () => {
      client.write("HTTP/1.1 200 OK\r\n\r\n");
      client.pipe(tunnel).pipe(client);
    });
    for (const [from, to] of [
      [client, tunnel],
      [tunnel, client],
    ] as const)
      from.on("error", () => to.destroy()).on("close", () => to.destroy());
  });
  for (const each of [server, proxy]) await once(each.listen(0, "127.0.0.1"), "listening");
  return {
    address: `127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    certificate: certificate.cert,
    async [Symbol.asyncDispose]() {
      for (const each of [proxy, server]) {
        const closed = once(each, "close");
        each.close();
        each.closeAllConnections();
        await closed;
      }
    },
  };
}

/** Sends a request on to a server that speaks HTTP. */
export function forwardTo(url: string): RequestListener {
  return (request, response) => {
    const { method, headers, url: path = "" } = request;
    const forwarded = httpRequest(new URL(path, url), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    forwarded.on("error", (error) => response.destroy(error));
    request.pipe(forwarded);
  };
}
