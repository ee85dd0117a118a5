import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { openProviderClient } from "./provider-client.ts";

async function urlOf(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // A server on a port has such an address.
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("a connection that the provider has closed meanwhile is replaced", async () => {
  let asked = 0;
  const server = createServer((request, response) => {
    asked++;
    // The second request on a connection finds it closed.
    if (asked === 2) request.socket.destroy();
    else response.end(`${asked}`);
  });
  const url = await urlOf(server);
  const client = openProviderClient(fetch);
  expect(await client.get(url)).toMatchObject({ status: 200, text: "1" });
  expect(await client.get(url)).toMatchObject({ status: 200, text: "3" });
  server.close();
});

test("a provider that closes every connection is not asked again and again", async () => {
  let asked = 0;
  const server = createServer((request) => {
    asked++;
    request.socket.destroy();
  });
  const url = await urlOf(server);
  await expect(openProviderClient(fetch).get(url)).rejects.toThrow(
    / cannot be reached \((?:UND_ERR_SOCKET|ECONNRESET)\)$/,
  );
  expect(asked).toBe(2);
  server.close();
});
