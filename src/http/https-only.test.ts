import fc from "fast-check";
import { expect, test } from "vitest";
import { openSocket } from "../../test/socket.ts";
import { trustedProxies } from "./forwarded.ts";
import { checkHttps, httpsProblem } from "./https-only.ts";
import { type Listener, listen } from "./listen.ts";

const plain = (host: string | undefined) => ({ isSecure: false, host });

test.each<[string, string, string | undefined, string]>([
  ["GET", "/", "api.example", "https://api.example/"],
  ["HEAD", "/a/b?c=d&e=%2F+", "api.example", "https://api.example/a/b?c=d&e=%2F+"],
  ["GET", "/a?b=https://evil.example/", "api.example", "https://api.example/a?b=https://evil.example/"],
  ["GET", "//evil.example/a", "api.example", "https://api.example//evil.example/a"],
  ["GET", "/\\evil.example", "api.example", "https://api.example/\\evil.example"],
  ["GET", "/@evil.example", "api.example", "https://api.example/@evil.example"],
  ["GET", "/..%2f..", "api.example", "https://api.example/..%2f.."],
  ["GET", '/a"<b>{c}|^`', "api.example", 'https://api.example/a"<b>{c}|^`'],
  ["GET", "/a", "api.example:8080", "https://api.example/a"],
  ["GET", "/a", "api.example:", "https://api.example/a"],
  ["GET", "/a", "API.Example.", "https://API.Example./a"],
  ["GET", "/a", "my_host", "https://my_host/a"],
  ["GET", "/a", "127.0.0.1:8080", "https://127.0.0.1/a"],
  ["GET", "/a", "[::1]:8080", "https://[::1]/a"],
  ["GET", "/a", "[2001:db8::1]", "https://[2001:db8::1]/a"],
  ["GET", "/healthcare", "a", "https://a/healthcare"],
  ["GET", "/health/x", "a", "https://a/health/x"],
  ["GET", "/health//", "a", "https://a/health//"],
  ["GET", "/Health", "a", "https://a/Health"],
  ["GET", "/%68ealth", "a", "https://a/%68ealth"],
  ["GET", "/x?/health", "a", "https://a/x?/health"],
])("%s %s of %s is sent to %s", (method, url, host, location) => {
  expect(httpsProblem({ method, url }, plain(host))).toEqual({ location });
});

test.each<[string, string, string | undefined]>([
  ["POST", "/a", "api.example"],
  ["PUT", "/a", "api.example"],
  ["PATCH", "/a", "api.example"],
  ["DELETE", "/a", "api.example"],
  ["OPTIONS", "/a", "api.example"],
  ["OPTIONS", "*", "api.example"],
  ["TRACE", "/a", "api.example"],
  ["GET", "*", "api.example"],
  ["GET", "", "api.example"],
  ["GET", "a", "api.example"],
  ["GET", "http://evil.example/a", "api.example"],
  ["GET", "https://evil.example/a", "api.example"],
  ["GET", "@evil.example", "api.example"],
  ["GET", ".evil.example", "api.example"],
  ["GET", "/a#b", "api.example"],
  ["GET", "/a b", "api.example"],
  ["GET", "/a\r\nSet-Cookie: b=c", "api.example"],
  ["GET", "/a\n", "api.example"],
  ["GET", "/a\0", "api.example"],
  ["GET", "/ä", "api.example"],
  ["GET", "/a\u2028", "api.example"],
  ["GET", "/a", undefined],
  ["GET", "/a", ""],
  ["GET", "/a", " "],
  ["GET", "/a", ":80"],
  ["GET", "/a", "."],
  ["GET", "/a", "-"],
  ["GET", "/a", "evil.example/"],
  ["GET", "/a", "evil.example/b?c"],
  ["GET", "/a", "evil.example\\"],
  ["GET", "/a", "evil.example#"],
  ["GET", "/a", "evil.example?"],
  ["GET", "/a", "api.example@evil.example"],
  ["GET", "/a", "user:password@api.example"],
  ["GET", "/a", "https://evil.example"],
  ["GET", "/a", "a b"],
  ["GET", "/a", "a, b"],
  ["GET", "/a", "a\r\nSet-Cookie: b=c"],
  ["GET", "/a", "a%2eexample"],
  ["GET", "/a", "ä.example"],
  ["GET", "/a", "a:http"],
  ["GET", "/a", "a:123456"],
  ["GET", "/a", "a:80:80"],
  ["GET", "/a", "::1"],
  ["GET", "/a", "[::1"],
  ["GET", "/a", "[::1]x"],
  ["GET", "/a", "[]"],
  ["GET", "/a", "[:::]"],
  ["GET", "/a", "[fe80::1%25eth0]"],
  ["GET", "/a", "a".repeat(300)],
])("%s %j of %j is refused", (method, url, host) => {
  expect(httpsProblem({ method, url }, plain(host))).toEqual({ location: undefined });
});

test.each([
  "/health",
  "/health/",
  "/health/live",
  "/health/ready",
  "/health/ready/",
  "/health?verbose=1",
  "/health/live?",
])("%s may be asked in plain text", (url) => {
  for (const method of ["GET", "HEAD", "OPTIONS", "POST"]) {
    expect(httpsProblem({ method, url }, plain(undefined))).toBe(undefined);
  }
});

test.each(["GET", "POST", "OPTIONS", "DELETE"])("a secure %s has no problem", (method) => {
  expect(httpsProblem({ method, url: "http://x/a" }, { isSecure: true, host: undefined })).toBe(undefined);
});

test("whatever is sent, nobody is sent to another host, and nothing breaks out of the header", () => {
  const text = fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.webUrl(), fc.webAuthority({ withPort: true }));
  const url = fc.oneof(
    text,
    fc.webPath(),
    text.map((rest) => `/${rest}`),
    text.map((rest) => `//${rest}`),
  );
  fc.assert(
    fc.property(url, text, (url, host) => {
      const problem = httpsProblem({ method: "GET", url }, plain(host));
      const location = problem?.location;
      fc.pre(location !== undefined);
      expect(location).toMatch(/^[!-~]+$/);
      expect(location.endsWith(url)).toBe(true);
      // Names like 1.2.3.4.5 lead nowhere at all.
      fc.pre(URL.canParse(location));
      const { protocol, hostname, username, port, hash } = new URL(location);
      expect([protocol, username, port, hash]).toEqual(["https:", "", "", ""]);
      expect(hostname).toBe(new URL(`https://${host}`).hostname);
    }),
    { numRuns: 500, maxSkipsPerRun: 1_000 },
  );
});

async function enforcing(proxies: readonly string[]): Promise<Listener> {
  const trusted = trustedProxies(proxies);
  return await listen({
    host: "127.0.0.1",
    port: 0,
    handle(request, response) {
      const problem = checkHttps(request, response, { https: { tls: undefined }, proxies: trusted });
      if (problem === undefined) response.end("fine");
      else if (problem.location === undefined) response.writeHead(403).end();
      else response.writeHead(308, { Location: problem.location }).end();
    },
  });
}

test.each<[string, string, number, string | undefined]>([
  ["plain", "GET /a?b=%20 HTTP/1.1\r\nHost: api.example:8080\r\n", 308, "https://api.example/a?b=%20"],
  ["HTTP/1.0", "GET /a HTTP/1.0\r\n", 403, undefined],
  ["no host to speak of", "GET /a HTTP/1.1\r\nHost:\r\n", 403, undefined],
  ["absolute form", "GET http://evil.example/a HTTP/1.1\r\nHost: evil.example\r\n", 403, undefined],
  ["a write", "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n", 403, undefined],
  ["a proxy that speaks HTTPS", "GET /a HTTP/1.1\r\nHost: a\r\nX-Forwarded-Proto: https\r\n", 200, undefined],
  [
    "a proxy that does not",
    "GET /a HTTP/1.1\r\nHost: a\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: www.example\r\n",
    308,
    "https://www.example/a",
  ],
  [
    "a proxy that passes on nonsense",
    "GET /a HTTP/1.1\r\nHost: a\r\nX-Forwarded-Host: evil.example/b\r\n",
    403,
    undefined,
  ],
])("over a socket: %s", async (_, head, status, location) => {
  const listener = await enforcing(["127.0.0.1"]);
  using socket = await openSocket(listener.url);
  socket.send(`${head}Connection: close\r\n\r\n`);
  const [answer] = await socket.take(1);
  expect([answer?.status, answer?.headers.get("location")]).toEqual([status, location]);
  // Browsers stay with HTTPS for a year.
  expect(answer?.headers.get("strict-transport-security")).toBe(status === 200 ? "max-age=31536000" : undefined);
  await listener.close();
});

test("over a socket: an untrusted proxy cannot claim HTTPS", async () => {
  const listener = await enforcing(["10.0.0.0/8"]);
  using socket = await openSocket(listener.url);
  socket.send("GET /a HTTP/1.1\r\nHost: a\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: evil.example\r\n\r\n");
  const [answer] = await socket.take(1);
  expect([answer?.status, answer?.headers.get("location")]).toEqual([308, "https://a/a"]);
  socket.close();
  await listener.close();
});
