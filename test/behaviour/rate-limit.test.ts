import { describe, expect, test } from "vitest";
import { type Files, serviceFrom, type TestService } from "../service.ts";

const MAIN = `connections: { db: { init: "CREATE TABLE IF NOT EXISTS calls (i INTEGER)" } }\n`;
const at = (path: string, yaml = "", sql = "SELECT 1 AS n"): Files => ({
  [`${path}.yaml`]: `url-path: /${path}/:id\ntemplate-source: ${path}.sql\nconnection: [db]\nwith-pagination: false\n${yaml}request:\n  - { field-name: id, field-in: path, validators: [{ type: int }] }\n`,
  [`${path}.sql`]: `${sql} -- {{params.id}}`,
});
const limit = (text: string): string => `rate-limit: { ${text} }\n`;
const basic = (user: string): Record<string, string> => ({
  Authorization: `Basic ${Buffer.from(`${user}:${user}`).toString("base64")}`,
});
const USERS = "auth:\n  type: basic\n  users: [{ username: ann, password: ann }, { username: bob, password: bob }]\n";

async function statuses(service: TestService, path: string, times: number, headers = {}): Promise<number[]> {
  const found: number[] = [];
  for (let time = 0; time < times; time++) found.push((await service.get(path, headers)).status);
  return found;
}

describe("rate-limit", () => {
  test("so many requests of an endpoint in an interval, whatever the path", async () => {
    await using service = await serviceFrom({
      "eider.yaml": MAIN,
      ...at("a", limit("max: 3, interval: 60")),
      ...at("b"),
    });
    expect(await statuses(service, "/a/1", 2)).toEqual([200, 200]);
    expect(await statuses(service, "/a/2", 3)).toEqual([200, 429, 429]);
    expect(await statuses(service, "/b/1", 5)).toEqual([200, 200, 200, 200, 200]);
  });

  test("headers on every answer, 429 with Retry-After and its body", async () => {
    await using service = await serviceFrom({ "eider.yaml": MAIN, ...at("a", limit("max: 2, interval: 30")) });
    const before = Math.floor(Date.now() / 1000);
    const first = await service.get("/a/1");
    const pick = (answer: Response, ...names: string[]) => names.map((name) => answer.headers.get(name));
    expect(pick(first, "x-ratelimit-limit", "x-ratelimit-remaining", "ratelimit-policy")).toEqual([
      "2",
      "1",
      '"default";q=2;w=30',
    ]);
    expect(first.headers.get("ratelimit")).toMatch(/^"default";r=1;t=\d+$/);
    const reset = Number(first.headers.get("x-ratelimit-reset"));
    expect(reset).toBeGreaterThanOrEqual(before + 29);
    expect(reset).toBeLessThanOrEqual(Date.now() / 1000 + 32);
    // A request that is wrong counts, and is told so.
    const wrong = await service.get("/a/x");
    expect([wrong.status, ...pick(wrong, "x-ratelimit-remaining")]).toEqual([400, "0"]);
    const refused = await service.get("/a/1");
    expect([refused.status, await refused.text()]).toEqual([429, '{"error":"Too Many Requests"}']);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect(Number(refused.headers.get("retry-after"))).toBeLessThanOrEqual(30);
    expect(pick(refused, "x-ratelimit-remaining")).toEqual(["0"]);
  });

  test("the window ends, and requests are free again", async () => {
    await using service = await serviceFrom({ "eider.yaml": MAIN, ...at("a", limit("max: 1, interval: 1")) });
    expect(await statuses(service, "/a/1", 2)).toEqual([200, 429]);
    await expect.poll(async () => (await service.get("/a/1")).status, { interval: 50 }).toBe(200);
  });

  test("inherited, replaced entirely, disabled, and with defaults", async () => {
    await using service = await serviceFrom({
      "eider.yaml": `${MAIN}rate-limit: { max: 1, interval: 60 }\n`,
      ...at("inherits"),
      ...at("own", limit("max: 2")),
      ...at("off", limit("enabled: false")),
      ...at("defaults", limit("enabled: true")),
    });
    expect(await statuses(service, "/inherits/1", 2)).toEqual([200, 429]);
    expect(await statuses(service, "/own/1", 3)).toEqual([200, 200, 429]);
    expect(await statuses(service, "/off/1", 5)).toEqual([200, 200, 200, 200, 200]);
    const answer = await service.get("/defaults/1");
    expect(answer.headers.get("ratelimit-policy")).toBe('"default";q=100;w=60');
  });

  test("what is limited runs nothing", async () => {
    await using service = await serviceFrom({
      "eider.yaml": MAIN,
      ...at("write", `method: POST\n${limit("max: 1, interval: 60")}`, "INSERT INTO calls VALUES (1)"),
      ...at("calls", "", "SELECT count(*)::INTEGER AS n FROM calls"),
    });
    const post = async () => (await service.request("/write/1", { method: "POST" })).status;
    expect([await post(), await post(), await post()]).toEqual([200, 429, 429]);
    expect(await service.json("/calls/1")).toEqual([{ n: 1 }]);
  });

  test("many at once: exactly as many as may", async () => {
    await using service = await serviceFrom({ "eider.yaml": MAIN, ...at("a", limit("max: 25, interval: 60")) });
    const all = await Promise.all(Array.from({ length: 100 }, async () => (await service.get("/a/1")).status));
    expect(all.filter((status) => status === 200)).toHaveLength(25);
    expect(all.filter((status) => status === 429)).toHaveLength(75);
  });

  test("OPTIONS and unknown paths are not counted", async () => {
    await using service = await serviceFrom({ "eider.yaml": MAIN, ...at("a", limit("max: 1, interval: 60")) });
    for (let time = 0; time < 3; time++)
      expect((await service.request("/a/1", { method: "OPTIONS" })).status).toBe(204);
    expect((await service.request("/a/1", { method: "POST" })).status).toBe(405);
    expect(await statuses(service, "/a/1", 2)).toEqual([200, 429]);
  });
});

describe("keys", () => {
  test("by user: each has its own, and remembered answers count too", async () => {
    await using service = await serviceFrom({
      "eider.yaml": MAIN + USERS,
      ...at("a", limit("max: 4, interval: 60, key: user")),
    });
    expect(await statuses(service, "/a/1", 5, basic("ann"))).toEqual([200, 200, 200, 200, 429]);
    expect(await statuses(service, "/a/1", 5, basic("bob"))).toEqual([200, 200, 200, 200, 429]);
  });

  test("by address: users share it", async () => {
    await using service = await serviceFrom({ "eider.yaml": MAIN + USERS, ...at("a", limit("max: 3, interval: 60")) });
    expect(await statuses(service, "/a/1", 2, basic("ann"))).toEqual([200, 200]);
    expect(await statuses(service, "/a/1", 2, basic("bob"))).toEqual([200, 429]);
  });

  test("failed authentications count against the address", async () => {
    await using service = await serviceFrom({
      "eider.yaml": MAIN + USERS,
      ...at("a", limit("max: 3, interval: 60, key: user")),
    });
    expect(await statuses(service, "/a/1", 2, { Authorization: "Basic d3Jvbmc6eA==" })).toEqual([401, 401]);
    expect(await statuses(service, "/a/1", 2)).toEqual([401, 429]);
    // A user is not blocked by other clients at the same address.
    expect(await statuses(service, "/a/1", 1, basic("ann"))).toEqual([200]);
  });

  test("by the address that a trusted proxy names, and by nobody else's word", async () => {
    const files = at("a", limit("max: 1, interval: 60"));
    const from = (address: string) => ({ "X-Forwarded-For": address });
    await using believing = await serviceFrom({ "eider.yaml": `${MAIN}trusted-proxies: [127.0.0.0/8]\n`, ...files });
    expect(await statuses(believing, "/a/1", 2, from("203.0.113.1"))).toEqual([200, 429]);
    expect(await statuses(believing, "/a/1", 2, from("203.0.113.2"))).toEqual([200, 429]);
    await using doubting = await serviceFrom({ "eider.yaml": MAIN, ...files });
    expect(await statuses(doubting, "/a/1", 1, from("203.0.113.1"))).toEqual([200]);
    expect(await statuses(doubting, "/a/1", 1, from("203.0.113.2"))).toEqual([429]);
  });
});
