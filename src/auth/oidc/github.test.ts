import { createServer, type IncomingHttpHeaders, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type OpenedOidc, openAgainst } from "../../../test/oidc-provider.ts";
import { until } from "../../../test/until.ts";

/** GitHub's user API, as far as it is documented. The real one is out of reach of tests. */
let url: string;
let asked: IncomingHttpHeaders[];
let answer: RequestListener;

const user = { login: "octocat", id: 1, name: "The Octocat", email: null, plan: { name: "free" } };
const byToken: RequestListener = (request, response) => {
  const known = request.url === "/user" && request.headers.authorization === "Bearer gho_good";
  response.writeHead(known ? 200 : 401).end(JSON.stringify(known ? user : { message: "Bad credentials" }));
};

const server = createServer((request, response) => {
  asked.push(request.headers);
  answer(request, response);
});
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
});
beforeEach(() => {
  asked = [];
  answer = byToken;
});

const opened = (changes: object = {}): OpenedOidc => openAgainst(url, { provider: "github", ...changes });
const refused = { kind: "refused", failure: { kind: "unauthorized", scheme: "bearer" } };
const down = { kind: "refused", failure: { kind: "provider-down" } };

test("the login is the user name; the answer is remembered for five minutes", async () => {
  using github = opened();
  await github.oidc.loadKeys();
  const show = () => github.oidc.authenticate({ authorization: "Bearer gho_good" });
  const first = await show();
  expect(first.kind === "identity" && [...first.identity].map(([name, { value }]) => [name, value])).toEqual([
    ["type", "oidc"],
    ["authenticated", true],
    ["username", "octocat"],
  ]);
  github.advance(5 * 60_000 - 1);
  expect(show()).toBe(first);
  expect(asked).toEqual([expect.objectContaining({ authorization: "Bearer gho_good", "user-agent": "eider" })]);
  github.advance(1);
  expect(await show()).toEqual(first);
  expect(asked).toHaveLength(2);
});

test("other members of the user are claims too", async () => {
  answer = (_, response) => void response.end(JSON.stringify({ ...user, email: "o@github.test" }));
  using github = opened({ usernameClaim: "name" });
  const shown = await github.show("gho_any");
  expect(shown.kind === "identity" && shown.identity.get("username")?.value).toBe("The Octocat");
  expect(shown.kind === "identity" && shown.identity.get("email")?.value).toBe("o@github.test");
});

test.each<[string, number, Record<string, string>, string, object]>([
  ["an unknown token", 401, {}, '{"message": "Bad credentials"}', refused],
  ["a forbidden one", 403, { "x-ratelimit-remaining": "59" }, "{}", refused],
  ["a user without a login", 200, {}, "{}", refused],
  ["a login that is a number", 200, {}, '{"login": 7}', refused],
  ["no JSON", 200, {}, "<html>", refused],
  ["too many questions", 403, { "x-ratelimit-remaining": "0" }, "{}", down],
  ["too many at once", 403, { "retry-after": "60" }, "{}", down],
  ["slow down", 429, {}, "{}", down],
  ["broken", 500, {}, "", down],
  ["in between", 502, {}, "", down],
  ["gone", 404, {}, "", down],
  ["elsewhere", 302, { location: "https://evil.test/user" }, "", down],
])("%s: status %i", async (_, status, headers, body, expected) => {
  answer = (_request, response) => void response.writeHead(status, headers).end(body);
  using github = opened();
  expect(await github.show("gho_good")).toEqual(expected);
  expect(github.events.map(({ kind }) => kind)).toEqual(expected === down ? ["dependency-down"] : []);
  // Nothing of it is remembered.
  answer = byToken;
  expect((await github.show("gho_good")).kind).toBe("identity");
  expect(github.events.map(({ kind }) => kind)).toEqual(expected === down ? ["dependency-down", "dependency-up"] : []);
  expect(JSON.stringify(github.events)).not.toContain("gho_good");
});

test("nobody there", async () => {
  using github = openAgainst("http://127.0.0.1:1", { provider: "github" });
  expect(await github.show("gho_good")).toEqual(down);
  expect(await github.show("gho_good")).toEqual(down);
  expect(github.events).toEqual([expect.objectContaining({ kind: "dependency-down" })]);
});

test("a flood of made-up tokens is not handed on", async () => {
  const waiting: (() => void)[] = [];
  answer = (request, response) => void waiting.push(() => byToken(request, response));
  using github = opened();
  const flood = Array.from({ length: 100 }, (_, n) => github.show(`gho_${n}`));
  await until("the first are asked about", () => waiting.length === 32);
  const answers = Promise.all(flood);
  for (const finish of waiting) finish();
  const kinds = (await answers).map((shown) => (shown.kind === "refused" ? shown.failure.kind : ""));
  expect(kinds.filter((kind) => kind === "unauthorized")).toHaveLength(32);
  expect(kinds.filter((kind) => kind === "overloaded")).toHaveLength(68);
  answer = byToken;
  expect((await github.show("gho_good")).kind).toBe("identity");
});
