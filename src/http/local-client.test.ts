import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { expect, test } from "vitest";
import { trustedProxies } from "./forwarded.ts";
import { isLocalClient } from "./local-client.ts";

function requestFrom(peer: string, headers: Record<string, string>): IncomingMessage {
  const socket = new Socket();
  Object.defineProperty(socket, "remoteAddress", { value: peer });
  const request = new IncomingMessage(socket);
  Object.assign(request.headers, headers);
  return request;
}

const proxy = ["127.0.0.1", "10.0.0.0/8"];

test.each<[string, string, Record<string, string>, readonly string[], boolean]>([
  ["this machine", "127.0.0.1", {}, [], true],
  ["this machine by IPv6", "::1", {}, [], true],
  ["this machine in IPv6 clothes", "::ffff:127.0.0.1", {}, [], true],
  ["another machine", "192.0.2.7", {}, [], false],
  ["another machine that claims to be this one", "192.0.2.7", { "x-forwarded-for": "127.0.0.1" }, [], false],
  ["a proxy here that nobody trusts", "127.0.0.1", { "x-forwarded-for": "192.0.2.7" }, [], false],
  ["the same, whatever it says", "127.0.0.1", { "x-forwarded-for": "127.0.0.1" }, [], false],
  ["the same in the words of RFC 7239", "127.0.0.1", { forwarded: "for=192.0.2.7" }, [], false],
  ["the same in the words of nginx", "127.0.0.1", { "x-real-ip": "192.0.2.7" }, [], false],
  ["a proxy here that is trusted, for another", "127.0.0.1", { "x-forwarded-for": "192.0.2.7" }, proxy, false],
  ["the same for one who lies", "127.0.0.1", { "x-forwarded-for": "127.0.0.1, 192.0.2.7" }, proxy, false],
  ["the same with another header only", "127.0.0.1", { "x-real-ip": "192.0.2.7" }, proxy, false],
  ["a proxy here that is trusted, for this machine", "127.0.0.1", { "x-forwarded-for": "127.0.0.1" }, proxy, true],
  ["a proxy elsewhere, for this machine", "10.0.0.2", { "x-forwarded-for": "127.0.0.1" }, proxy, false],
  ["this machine, beside a trusted proxy", "127.0.0.1", {}, proxy, true],
])("%s", (_, peer, headers, proxies, expected) => {
  expect(isLocalClient(requestFrom(peer, headers), trustedProxies(proxies))).toBe(expected);
});
