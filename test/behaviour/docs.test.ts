import { describe, expect, test } from "vitest";
import { sendRequest } from "../ask.ts";
import { endpoint, problemsFrom, serviceFrom } from "../service.ts";

const MAIN = "connections: { memory: {} }\n";
const BASIC = "auth: { type: basic, users: [{ username: ann, password: ann }] }\n";
const ANN = { Authorization: `Basic ${Buffer.from("ann:ann").toString("base64")}` };
const BROWSER = { Accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" };

describe("GET /docs", () => {
  test("JSON, YAML and the page, under every name", async () => {
    await using service = await serviceFrom({ "eider.yaml": MAIN, ...endpoint("SELECT 1 AS n") });
    for (const [path, headers, type] of [
      ["/docs", {}, "application/json"],
      ["/docs", { Accept: "*/*" }, "application/json"],
      ["/docs", { Accept: "application/yaml" }, "application/yaml"],
      ["/docs?format=yaml", BROWSER, "application/yaml"],
      ["/docs?format=json", BROWSER, "application/json"],
      ["/docs", BROWSER, "text/html; charset=utf-8"],
      ["/doc", {}, "application/json"],
      ["/doc", BROWSER, "text/html; charset=utf-8"],
      ["/openapi.json", BROWSER, "application/json"],
      ["/openapi.yaml", {}, "application/yaml"],
      ["/doc.yaml", BROWSER, "application/yaml"],
    ] as const) {
      const answer = await sendRequest(service.url + path, { headers });
      expect([path, answer.status, answer.headers["content-type"]]).toEqual([path, 200, type]);
      const again = await sendRequest(service.url + path, {
        headers: { ...headers, "If-None-Match": answer.headers.etag ?? "" },
      });
      expect([path, again.status, again.body.length]).toEqual([path, 304, 0]);
    }
    const wrong = await service.get("/docs?format=xml");
    expect([wrong.status, await wrong.json()]).toEqual([
      400,
      { errors: [{ field: "format", message: "Invalid enum value" }] },
    ]);
  });

  test("the URL that the client used, and no host that it makes up", async () => {
    await using service = await serviceFrom({ "eider.yaml": MAIN, ...endpoint("SELECT 1 AS n") });
    const serverOf = async (host: string): Promise<unknown> => {
      const { body } = await sendRequest(`${service.url}/openapi.json`, { headers: { Host: host } });
      return (JSON.parse(body.toString()) as { servers: { url: string }[] }).servers[0]?.url;
    };
    expect(await serverOf("api.example.com:8443")).toBe("http://api.example.com:8443");
    expect(await serverOf('x"y')).toBe("/");
  });

  test("a browser is led there from /, unless an endpoint is there; others are not", async () => {
    await using service = await serviceFrom({ "eider.yaml": MAIN, ...endpoint("SELECT 1 AS n") });
    const led = await sendRequest(`${service.url}/`, { headers: BROWSER });
    expect([led.status, led.headers.location]).toEqual([302, "docs"]);
    expect((await sendRequest(`${service.url}/`)).status).toBe(404);
    expect((await sendRequest(`${service.url}/docs/`)).headers.location).toBe("../docs");
    const root = endpoint("SELECT 1 AS n");
    await using claimed = await serviceFrom({
      "eider.yaml": MAIN,
      ...root,
      "x.yaml": (root["x.yaml"] ?? "").replace("/x", "/"),
    });
    expect((await sendRequest(`${claimed.url}/`, { headers: BROWSER })).status).toBe(200);
  });

  test("docs.enabled: false", async () => {
    await using service = await serviceFrom({
      "eider.yaml": `${MAIN}docs: { enabled: false }\n`,
      ...endpoint("SELECT 1"),
    });
    for (const path of ["/docs", "/openapi.json", "/doc.yaml"]) expect((await service.get(path)).status).toBe(404);
  });

  test("docs.auth: the document needs the global block, and without one the project does not load", async () => {
    await using service = await serviceFrom({
      "eider.yaml": `${MAIN}${BASIC}docs: { auth: true }\n`,
      ...endpoint("SELECT 1"),
    });
    for (const path of ["/docs", "/openapi.json", "/openapi.yaml"]) {
      expect((await service.get(path)).status).toBe(401);
      expect((await service.get(path, ANN)).status).toBe(200);
    }
    // The page itself holds nothing of the project, and asks for credentials.
    expect((await service.get("/docs", BROWSER)).status).toBe(200);
    await using open = await serviceFrom({ "eider.yaml": MAIN + BASIC, ...endpoint("SELECT 1") });
    expect((await open.get("/docs")).status).toBe(200);
    const problems = await problemsFrom({ "eider.yaml": `${MAIN}docs: { auth: true }\n`, ...endpoint("SELECT 1") });
    expect(problems).toEqual([
      expect.stringMatching(/^eider\.yaml:2:\d+: docs\.auth: there is no auth block; add one/),
    ]);
  });

  test("only reads", async () => {
    await using service = await serviceFrom({ "eider.yaml": MAIN, ...endpoint("SELECT 1 AS n") });
    const answer = await service.request("/docs", { method: "POST" });
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, "GET, HEAD, OPTIONS"]);
    const head = await sendRequest(`${service.url}/docs`, { method: "HEAD" });
    expect([head.status, head.body.length, Number(head.headers["content-length"]) > 500]).toEqual([200, 0, true]);
  });
});
