import { describe, expect, test } from "vitest";
import { sendRequest } from "../ask.ts";
import { type Files, serviceFrom, type TestService } from "../service.ts";

const MAIN = "connections: { db: {} }\n";
const USERS = "auth:\n  type: basic\n  users: [{ username: ann, password: ann }]\n";
const X: Files = {
  "x.yaml": "url-path: /x\ntemplate-source: x.sql\nconnection: [db]\nwith-pagination: false\n",
  "x.sql": "SELECT 1 AS n",
  "y.yaml":
    "url-path: /x\nmethod: POST\ntemplate-source: x.sql\nconnection: [db]\noperation: { type: Read }\nwith-pagination: false\n",
};
const open = (yaml: string): Promise<TestService> => serviceFrom({ "eider.yaml": MAIN + yaml, ...X });

describe("enforce-https without a certificate of our own", () => {
  const HTTPS = "enforce-https: { enabled: true }\n";

  test("reads are sent on, the rest is refused, before anything else is looked at", async () => {
    await using service = await open(HTTPS + USERS);
    const host = { Host: "api.example.com:8080" };
    const read = await sendRequest(`${service.url}/x?a=1%202&b`, { headers: host });
    expect([read.status, read.headers.location]).toEqual([308, "https://api.example.com/x?a=1%202&b"]);
    expect((await sendRequest(`${service.url}/x`, { method: "HEAD", headers: host })).status).toBe(308);
    const write = await sendRequest(`${service.url}/x`, { method: "POST", headers: host });
    expect([write.status, write.body.toString()]).toEqual([403, '{"error":"Forbidden: HTTPS is required"}']);
    expect((await sendRequest(`${service.url}/health`, { headers: host })).status).toBe(200);
    expect((await sendRequest(`${service.url}/nowhere`, { headers: host })).status).toBe(308);
  });

  test("X-Forwarded-Proto counts only from a trusted proxy; safe answers say so for a year", async () => {
    const headers = { "X-Forwarded-Proto": "https" };
    await using doubting = await open(HTTPS);
    expect((await sendRequest(`${doubting.url}/x`, { headers })).status).toBe(308);
    await using believing = await open(`${HTTPS}trusted-proxies: [127.0.0.1]\n`);
    const answer = await sendRequest(`${believing.url}/x`, { headers });
    expect([answer.status, answer.headers["strict-transport-security"]]).toEqual([200, "max-age=31536000"]);
    expect((await sendRequest(`${believing.url}/x`, { headers: { "X-Forwarded-Proto": "http" } })).status).toBe(308);
    expect((await sendRequest(`${believing.url}/x`)).status).toBe(308);
  });

  test("off: nobody is sent anywhere", async () => {
    await using service = await open("enforce-https: { enabled: false }\n");
    const answer = await sendRequest(`${service.url}/x`);
    expect([answer.status, answer.headers["strict-transport-security"]]).toEqual([200, undefined]);
  });
});

describe("CORS", () => {
  const ALLOWED = "cors: { allow-origins: [https://app.example.com], allow-credentials: true, max-age: 60 }\n";
  const from = (origin: string): Record<string, string> => ({ Origin: origin });
  const names = ["access-control-allow-origin", "access-control-allow-credentials", "access-control-allow-methods"];

  test("without a block there is nothing of it", async () => {
    await using service = await open("");
    const answer = await sendRequest(`${service.url}/x`, { headers: from("https://app.example.com") });
    expect(Object.keys(answer.headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
    expect(answer.headers.vary).toBe("Accept, Accept-Encoding");
  });

  test("an origin of the list may read, others may not; caches are told", async () => {
    await using service = await open(ALLOWED);
    for (const _ of [1, 2, 3]) {
      const good = await sendRequest(`${service.url}/x`, { headers: from("https://app.example.com") });
      expect(names.map((name) => good.headers[name])).toEqual(["https://app.example.com", "true", undefined]);
      expect(good.headers.vary).toBe("Accept, Accept-Encoding, Origin");
      expect(good.headers["access-control-expose-headers"]).toContain("X-Total-Count");
      const bad = await sendRequest(`${service.url}/x`, { headers: from("https://evil.example.com") });
      expect([bad.status, ...names.map((name) => bad.headers[name])]).toEqual([200, undefined, undefined, undefined]);
      expect(bad.headers.vary).toBe("Accept, Accept-Encoding, Origin");
    }
  });

  test("errors can be read too", async () => {
    await using service = await open(ALLOWED + USERS);
    for (const [path, status] of [
      ["/x", 401],
      ["/nowhere", 404],
    ] as const) {
      const answer = await sendRequest(service.url + path, { headers: from("https://app.example.com") });
      expect([answer.status, answer.headers["access-control-allow-origin"]]).toEqual([
        status,
        "https://app.example.com",
      ]);
      expect(answer.headers.vary).toContain("Origin");
    }
  });

  test("a preflight needs no credentials, and names what the path takes", async () => {
    await using service = await open(ALLOWED + USERS);
    const answer = await sendRequest(`${service.url}/x`, {
      method: "OPTIONS",
      headers: {
        ...from("https://app.example.com"),
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type, x-y",
      },
    });
    expect(answer.status).toBe(204);
    expect(answer.headers["access-control-allow-origin"]).toBe("https://app.example.com");
    expect(answer.headers["access-control-allow-methods"]).toBe("GET, HEAD, POST");
    expect(answer.headers["access-control-allow-headers"]).toBe("content-type, x-y");
    expect(answer.headers["access-control-max-age"]).toBe("60");
    const evil = await sendRequest(`${service.url}/x`, {
      method: "OPTIONS",
      headers: { ...from("https://evil.example.com"), "Access-Control-Request-Method": "GET" },
    });
    expect([evil.status, evil.headers["access-control-allow-origin"]]).toEqual([204, undefined]);
    expect(evil.headers.allow).toBe("GET, POST, HEAD, OPTIONS");
  });

  test("any origin: a star, and no Vary", async () => {
    await using service = await open("cors: { allow-origins: ['*'] }\n");
    const answer = await sendRequest(`${service.url}/x`, { headers: from("https://anybody.example.com") });
    expect([answer.headers["access-control-allow-origin"], answer.headers.vary]).toEqual([
      "*",
      "Accept, Accept-Encoding",
    ]);
  });
});
