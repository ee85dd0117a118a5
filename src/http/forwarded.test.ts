import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { connect } from "node:tls";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sendRequest } from "../../test/ask.ts";
import { makeCertificate } from "../../test/certificates.ts";
import { projectFolder } from "../../test/project-folder.ts";
import { openSocket } from "../../test/socket.ts";
import { type Client, clientOf, trustedProxies } from "./forwarded.ts";
import { type Listener, listen } from "./listen.ts";

/** A request as Node makes it, from any address in the world. */
function requestFrom(address: string | undefined, headers: Record<string, string | string[]> = {}): IncomingMessage {
  const socket = new Socket();
  Object.defineProperty(socket, "remoteAddress", { value: address });
  const request = new IncomingMessage(socket);
  Object.assign(request.headers, { host: "api.example", ...headers });
  return request;
}

const PROXIES = ["10.0.0.0/8", "192.168.1.7", "fd00::/8"];
const believed = (header: string): string =>
  clientOf(requestFrom("10.0.0.1", { "x-forwarded-for": header }), trustedProxies(PROXIES)).address;

describe("who is trusted", () => {
  test.each<[string, string, boolean]>([
    ["10.0.0.7", "10.0.0.7", true],
    ["10.0.0.7", "10.0.0.8", false],
    ["10.0.0.0/8", "10.255.255.255", true],
    ["10.0.0.0/8", "11.0.0.0", false],
    ["10.20.30.40/8", "10.1.1.1", true],
    ["192.168.4.0/22", "192.168.7.255", true],
    ["192.168.4.0/22", "192.168.8.0", false],
    ["0.0.0.0/0", "255.1.2.3", true],
    ["0.0.0.0/0", "2001:db8::1", false],
    ["1.2.3.4/32", "1.2.3.4", true],
    ["::1", "::1", true],
    ["0:0:0:0:0:0:0:1", "::1", true],
    ["2001:DB8::/33", "2001:db8:7fff::1", true],
    ["2001:db8::/33", "2001:db8:8000::1", false],
    ["::/0", "fe80::1", true],
    ["::/0", "10.0.0.1", false],
    // 10.0.0.1 begins with the same bits.
    ["a00::/8", "10.0.0.1", false],
    ["10.0.0.0/8", "a00::1", false],
    ["::ffff:10.0.0.7", "10.0.0.7", true],
    ["::ffff:a00:7", "10.0.0.7", true],
    ["::ffff:10.0.0.0/104", "10.9.9.9", true],
    ["::ffff:10.0.0.0/104", "11.0.0.0", false],
    ["10.0.0.0/8", "", false],
    ["::/0", "no address", false],
  ])("%s holds %s: %s", (entry, address, expected) => {
    const proxies = trustedProxies([entry]);
    expect(proxies.problems).toEqual([]);
    expect(proxies.isTrusted(address)).toBe(expected);
  });

  test.each([
    "",
    "localhost",
    "proxy.example.com",
    "loopback",
    "*",
    "10.0.0",
    "10.0.0.256",
    "010.0.0.1",
    "10.0.0.1:80",
    "10.0.0.0/33",
    "10.0.0.0/-1",
    "10.0.0.0/08",
    "10.0.0.0/255.0.0.0",
    "10.0.0.0/",
    "10.0.0.0/8/8",
    "/8",
    "::1/129",
    "[::1]",
    "fe80::1%eth0",
    "::ffff:10.0.0.0/95",
    " 10.0.0.1",
    "10.0.0.1-10.0.0.9",
  ])("%j is a problem, and trusts nobody", (value) => {
    const proxies = trustedProxies(["192.168.1.7", value, "::1"]);
    const message = `expected an address or a network, 10.0.0.7, 10.0.0.0/8 or fd00::/8, found '${value}'`;
    expect(proxies.problems).toEqual([{ index: 1, value, message }]);
    expect(["10.0.0.1", "0.0.0.0", "::", ""].filter((address) => proxies.isTrusted(address))).toEqual([]);
    expect(["192.168.1.7", "::1"].every((address) => proxies.isTrusted(address))).toBe(true);
  });

  test("networks hold what their bits say", () => {
    const bits = (width: number) => fc.bigInt({ min: 0n, max: (1n << BigInt(width)) - 1n });
    const network = fc.constantFrom(32, 128).chain((width) =>
      fc.record({
        width: fc.constant(width),
        prefix: fc.integer({ min: 0, max: width }),
        network: bits(width),
        other: bits(width),
        /** How many of the first bits they share: chance alone would hardly ever give any. */
        shared: fc.integer({ min: 0, max: width }),
      }),
    );
    fc.assert(
      fc.property(network, ({ width, prefix, network, other, shared }) => {
        const low = (1n << BigInt(width - shared)) - 1n;
        const address = (network & ~low) | (other & low);
        // IPv4 in IPv6 clothes is told apart by others before it comes here.
        fc.pre(width === 32 || (network >> 32n !== 0xffffn && address >> 32n !== 0xffffn));
        const expected = network >> BigInt(width - prefix) === address >> BigInt(width - prefix);
        const proxies = trustedProxies([`${written(network, width)}/${prefix}`]);
        expect(proxies.isTrusted(written(address, width))).toBe(expected);
      }),
      { numRuns: 1_000 },
    );
  });
});

function written(value: bigint, width: number): string {
  const [size, count] = width === 32 ? [8n, 4] : [16n, 8];
  const parts = Array.from(
    { length: count },
    (_, index) => (value >> (size * BigInt(count - 1 - index))) % (1n << size),
  );
  return width === 32 ? parts.join(".") : parts.map((part) => part.toString(16)).join(":");
}

describe("the client behind proxies", () => {
  test.each<[string, string, string]>([
    ["one proxy", "203.0.113.9", "203.0.113.9"],
    ["two proxies", "203.0.113.9, 10.0.0.2", "203.0.113.9"],
    ["three, one of IPv6", "203.0.113.9,fd00::2 ,\t192.168.1.7", "203.0.113.9"],
    ["what the client made up stands before it", "1.1.1.1, 203.0.113.9", "203.0.113.9"],
    ["a trusted address that the client made up", "10.9.9.9, 203.0.113.9, 10.0.0.2", "203.0.113.9"],
    ["garbage that the client made up", "<script>, 203.0.113.9", "203.0.113.9"],
    ["only proxies", "10.0.0.3, 10.0.0.2", "10.0.0.3"],
    ["with a port", "203.0.113.9:51234", "203.0.113.9"],
    ["a proxy with a port", "203.0.113.9, 10.0.0.2:80", "203.0.113.9"],
    ["IPv6", "2001:db8::9", "2001:db8::9"],
    ["IPv6 in brackets", "[2001:db8::9]", "2001:db8::9"],
    ["IPv6 with a port", "[2001:db8::9]:51234", "2001:db8::9"],
    ["IPv6 in another spelling", "2001:0DB8:0:0::0009", "2001:db8::9"],
    ["IPv4 in IPv6 clothes", "::ffff:203.0.113.9", "203.0.113.9"],
    ["the same in hexadecimal, with a port", "[::FFFF:cb00:7109]:5", "203.0.113.9"],
    ["a proxy in IPv6 clothes", "203.0.113.9, ::ffff:10.0.0.2", "203.0.113.9"],
  ])("%s: %s", (_, header, expected) => expect(believed(header)).toBe(expected));

  test.each<[string, string, string]>([
    ["nothing", "", "10.0.0.1"],
    ["spaces", "  ", "10.0.0.1"],
    ["a comma", ",", "10.0.0.1"],
    ["many commas", ",".repeat(10_000), "10.0.0.1"],
    ["an empty last entry", "203.0.113.9,", "10.0.0.1"],
    ["an empty entry between", "203.0.113.9,,10.0.0.2", "10.0.0.2"],
    ["an empty first entry", ",10.0.0.2", "10.0.0.2"],
    ["unknown", "unknown", "10.0.0.1"],
    ["unknown before a proxy", "203.0.113.9, unknown, 10.0.0.2", "10.0.0.2"],
    ["a hidden name", "_hidden", "10.0.0.1"],
    ["a host name", "client.example.com", "10.0.0.1"],
    ["quotes", '"203.0.113.9"', "10.0.0.1"],
    ["the syntax of Forwarded", "for=203.0.113.9", "10.0.0.1"],
    ["two in one entry", "203.0.113.9 203.0.113.8", "10.0.0.1"],
    ["semicolons", "203.0.113.9;10.0.0.2", "10.0.0.1"],
    ["a network", "203.0.113.0/24", "10.0.0.1"],
    ["a number too large", "203.0.113.999", "10.0.0.1"],
    ["zeros first", "0203.0.113.9", "10.0.0.1"],
    ["three numbers", "203.0.113", "10.0.0.1"],
    ["one number", "3405803785", "10.0.0.1"],
    ["hexadecimal", "0xcb007109", "10.0.0.1"],
    ["a port without a number", "203.0.113.9:", "10.0.0.1"],
    ["a port that is none", "203.0.113.9:http", "10.0.0.1"],
    ["a port too long", "203.0.113.9:123456", "10.0.0.1"],
    ["two ports", "203.0.113.9:1:2", "10.0.0.1"],
    ["an open bracket", "[2001:db8::9", "10.0.0.1"],
    ["a closed bracket", "2001:db8::9]", "10.0.0.1"],
    ["empty brackets", "[]", "10.0.0.1"],
    ["IPv4 in brackets", "[203.0.113.9]:80", "10.0.0.1"],
    ["IPv6 with too many parts", "1:2:3:4:5:6:7:8:9", "10.0.0.1"],
    ["two gaps", "2001::db8::9", "10.0.0.1"],
    ["a zone", "fe80::1%eth0", "10.0.0.1"],
    ["a zone in brackets", "[fe80::1%25eth0]:80", "10.0.0.1"],
    ["NUL", "203.0.113.9\0", "10.0.0.1"],
    ["digits of another script", "٢٠٣.0.113.9", "10.0.0.1"],
    ["16 KB of one word", "a".repeat(16_000), "10.0.0.1"],
    ["16 KB of one number", "1".repeat(16_000), "10.0.0.1"],
  ])("%s is no address: what is known so far counts", (_, header, expected) => expect(believed(header)).toBe(expected));

  test.each<[string, string | string[] | undefined, boolean]>([
    ["nothing", undefined, false],
    ["https", "https", true],
    ["HTTPS", " HTTPS ", true],
    ["http", "http", false],
    ["what a client made up before it", "https, http", false],
    ["http on the way to the first proxy only", "http,https", true],
    ["several headers", ["http", "https"], true],
    ["an empty last entry", "https,", false],
    ["another protocol", "httpss", false],
    ["wss", "wss", false],
    ["quotes", '"https"', false],
    ["nothing at all", "", false],
  ])("X-Forwarded-Proto: %s", (_, value, isSecure) => {
    const headers = value === undefined ? {} : { "x-forwarded-proto": value };
    expect(clientOf(requestFrom("10.0.0.1", headers), trustedProxies(PROXIES)).isSecure).toBe(isSecure);
  });

  test.each<[string | undefined, string]>([
    [undefined, "api.example"],
    ["www.example", "www.example"],
    ["made-up.example, www.example:8443", "www.example:8443"],
    ["", "api.example"],
    ["www.example, ", "api.example"],
  ])("X-Forwarded-Host: %j gives %s", (value, host) => {
    const headers = value === undefined ? {} : { "x-forwarded-host": value };
    expect(clientOf(requestFrom("10.0.0.1", headers), trustedProxies(PROXIES)).host).toBe(host);
  });

  test.each<[string | undefined, string]>([
    ["::ffff:203.0.113.9", "203.0.113.9"],
    ["fe80::1%eth0", "fe80::1"],
    ["2001:db8::9", "2001:db8::9"],
    [undefined, ""],
  ])("a peer that the system calls %s", (peer, address) => {
    expect(clientOf(requestFrom(peer), trustedProxies([])).address).toBe(address);
    expect(clientOf(requestFrom(peer), trustedProxies(PROXIES)).address).toBe(address);
  });

  test("a proxy in IPv6 clothes is trusted", () => {
    const request = requestFrom("::ffff:10.0.0.1", { "x-forwarded-for": "203.0.113.9" });
    expect(clientOf(request, trustedProxies(PROXIES)).address).toBe("203.0.113.9");
  });
});

describe("over real sockets", () => {
  async function echo(list: readonly string[]): Promise<Listener> {
    const proxies = trustedProxies(list);
    return await listen({
      host: "127.0.0.1",
      port: 0,
      handle: (request, response) => response.end(JSON.stringify(clientOf(request, proxies))),
    });
  }

  /** Headers by which somebody might try to be somebody else. */
  const disguise = fc.record({
    name: fc.constantFrom(
      "X-Forwarded-For",
      "X-Forwarded-Proto",
      "X-Forwarded-Host",
      "x-forwarded-for",
      "X_Forwarded_For",
      "X-Forwarded-Port",
      "X-Forwarded-Ssl",
      "X-Real-IP",
      "Forwarded",
      "CF-Connecting-IP",
      "True-Client-IP",
    ),
    value: fc.oneof(
      fc.constantFrom(
        "127.0.0.1",
        "10.0.0.1, 10.0.0.2",
        "https",
        "HTTPS",
        "on",
        "evil.example",
        "for=1.2.3.4;proto=https",
      ),
      fc.ipV4(),
      fc.ipV6(),
      fc.stringMatching(/^[ -~]{0,40}$/),
    ),
  });

  test.each<[string, readonly string[]]>([
    ["no proxies", []],
    ["proxies elsewhere", PROXIES],
    ["a problem", ["localhost"]],
  ])("%s: no header from anybody else changes anything", async (_, list) => {
    const listener = await echo(list);
    using socket = await openSocket(listener.url);
    let asked = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(disguise, { maxLength: 6 }), async (headers) => {
        const lines = headers.map(({ name, value }) => `${name}: ${value}\r\n`);
        socket.send(`GET / HTTP/1.1\r\nHost: api.example\r\n${lines.join("")}\r\n`);
        const answer = (await socket.take(++asked)).at(-1);
        const expected: Client = { address: "127.0.0.1", isSecure: false, host: "api.example" };
        expect(JSON.parse(answer?.body ?? "")).toEqual(expected);
      }),
      { numRuns: 100 },
    );
    socket.close();
    await listener.close();
  });

  test("a proxy that is trusted is believed, in however many headers it says it", async () => {
    const listener = await echo(["127.0.0.1", "10.0.0.0/8"]);
    using socket = await openSocket(listener.url);
    socket.send(
      "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 1.1.1.1\r\nX-Forwarded-For: 203.0.113.9:80\r\nX-FORWARDED-FOR: 10.0.0.2\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: b\r\n\r\n",
    );
    const [answer] = await socket.take(1);
    expect(JSON.parse(answer?.body ?? "")).toEqual({ address: "203.0.113.9", isSecure: true, host: "b" });
    expect(JSON.parse(String((await sendRequest(listener.url)).body))).toMatchObject({
      address: "127.0.0.1",
      isSecure: false,
    });
    socket.close();
    await listener.close();
  });

  test("our own TLS is secure, whatever a proxy says", async () => {
    const { cert, key } = makeCertificate({ name: "localhost" });
    using folder = projectFolder({ "cert.pem": cert, "key.pem": key });
    const proxies = trustedProxies(["127.0.0.1"]);
    const listener = await listen({
      host: "127.0.0.1",
      port: 0,
      handle: (request, response) => response.end(JSON.stringify(clientOf(request, proxies))),
      tls: { certFile: `${folder.path}/cert.pem`, keyFile: `${folder.path}/key.pem`, report: () => {} },
    });
    const socket = connect({ host: "127.0.0.1", port: Number(new URL(listener.url).port), ca: cert });
    socket.end("GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-Proto: http\r\nConnection: close\r\n\r\n");
    const chunks = await socket.toArray();
    expect(Buffer.concat(chunks).toString()).toContain('{"address":"127.0.0.1","isSecure":true,"host":"a"}');
    await listener.close();
  });
});
