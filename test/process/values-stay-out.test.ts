import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { extensionDirectory, missingExtensions } from "../extensions.ts";
import { MODERN_META } from "../mcp-server.ts";
import { testNeeding } from "../needing.ts";
import { missingPostgres, sharedPostgres } from "../postgres.ts";
import { until } from "../until.ts";
import { type Program, start } from "./program.ts";

/** Every value of a request holds this word, in one case or the other. */
const MARK = "hUnTeR";
/** The same for values that are not redacted. */
const PLAIN = "gAtHeR";

interface Declared {
  readonly sql: string;
  readonly method?: "POST";
}

/** An endpoint and a tool with parameters that are redacted, and one that is not. */
function endpoint(name: string, { sql, method }: Declared): Record<string, string> {
  const place = method === undefined ? "query" : "body";
  return {
    [`${name}.yaml`]: `url-path: /${name}
method: ${method ?? "GET"}
mcp-tool: { name: ${name}, description: x }
template-source: ${name}.sql
connection: [db]
with-pagination: false
${method === undefined ? "" : "operation: { type: Write }\n"}request:
  - { field-name: api_token, field-in: header }
  - { field-name: password, field-in: ${place} }
  - { field-name: plain, field-in: ${place} }
`,
    [`${name}.sql`]: sql,
  };
}

const project = {
  "eider.yaml": `http-port: 0
mcp: { port: 0 }
connections:
  db:
    init: "CREATE TABLE users (name VARCHAR PRIMARY KEY, age INT)"
    log-queries: true
    log-parameters: false
  loud: { log-queries: true, log-parameters: true }
audit: { sink: file, path: ./audit.log, redact: [password, PIN, api_token] }
log: { level: trace, format: json, slow-query: 1ms }
tracing: { endpoint: "http://127.0.0.1:1" }
`,
  ...endpoint("convert", { sql: "SELECT '{{{params.password}}}{{{params.api_token}}}{{{params.plain}}}'::INT AS n" }),
  ...endpoint("reversed", { sql: "SELECT reverse(concat({{params.password}}, {{params.plain}}))::INT AS n" }),
  ...endpoint("pattern", {
    sql: "SELECT regexp_matches('x', concat('(', {{params.password}}, {{params.plain}})) AS n",
  }),
  ...endpoint("told", {
    sql: "SELECT error(concat('no ', {{params.password}}, {{params.api_token}}, {{params.plain}}, '!'))",
  }),
  ...endpoint("refused", { sql: "SELECT error(concat('403: not ', upper({{params.password}})))" }),
  ...endpoint("login", { sql: "SELECT error('401: wrong password') WHERE {{params.password}} <> 'x'" }),
  ...endpoint("add", {
    sql: "INSERT INTO users VALUES (concat({{params.password}}, {{params.plain}}), 1), (concat({{params.password}}, {{params.plain}}), 1)",
    method: "POST",
  }),
  "pin.yaml":
    "url-path: /pin/:pin\ntemplate-source: pin.sql\nconnection: [db]\nrequest:\n  - { field-name: pin, field-in: path }\n",
  "pin.sql": "SELECT {{params.pin}}::INT AS n",
  "loud.yaml":
    "url-path: /loud\ntemplate-source: loud.sql\nconnection: [loud]\nrequest:\n  - { field-name: password, field-in: query }\n  - { field-name: plain, field-in: query }\n",
  "loud.sql": "SELECT '%{{{params.password}}}%' AS a, {{params.password}} AS b, {{params.plain}} AS c",
};

interface Sent {
  readonly api_token?: string;
  readonly password?: string;
  readonly plain?: string;
}

async function overRest(url: string, name: string, { api_token, ...others }: Sent): Promise<string> {
  const headers = api_token === undefined ? {} : { "Api-Token": api_token };
  const response =
    name === "add"
      ? await fetch(`${url}/add`, {
          method: "POST",
          headers: { "Content-Type": "application/json", ...headers },
          body: JSON.stringify(others),
        })
      : await fetch(`${url}/${name}?${new URLSearchParams(others)}`, { headers });
  return `${response.status} ${await response.text()}`;
}

async function overMcp(url: string, name: string, sent: Sent): Promise<string> {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      "MCP-Protocol-Version": "2026-07-28",
      "Mcp-Method": "tools/call",
      "Mcp-Name": name,
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { _meta: MODERN_META, name, arguments: sent },
    }),
  });
  return await response.text();
}

const holds = (text: string, mark = MARK): boolean =>
  new RegExp(`${mark}|${[...mark].reverse().join("")}|${encodeURIComponent(`"${mark}`)}`, "i").test(text);

/** Everything that was written when the program has ended. */
async function written(program: Program): Promise<Readonly<Record<"stdout" | "stderr" | "audit", string>>> {
  program.signal("SIGTERM");
  expect(await program.exited).toMatchObject({ code: 0 });
  const audit = await readFile(join(program.folder, "audit.log"), "utf8");
  return { stdout: program.stdout(), stderr: program.stderr(), audit };
}

describe("values of requests", () => {
  const NAMES = ["convert", "reversed", "pattern", "told", "refused", "login", "add"];

  test("that are redacted are in no response, log or audit, whatever the database quotes; others in the response alone", async () => {
    await using program = await start(project);
    const [url, mcpUrl] = [await program.url(), await program.mcpUrl()];
    const responses: string[] = [];
    const values = [`${MARK}-2`, `it's "${MARK}" 100% \u001b[31m`, `${MARK} `.repeat(40), `${MARK}(`];
    for (const [row, value] of values.entries()) {
      for (const [column, name] of NAMES.entries()) {
        // Every value and every endpoint meets both.
        const isRest = (row + column) % 2 === 0;
        responses.push(
          await (isRest ? overRest(url, name, { password: value }) : overMcp(mcpUrl, name, { password: value })),
        );
      }
      const token = value.replace("\u001b", "").trim();
      responses.push(
        await overRest(url, "convert", { api_token: token }),
        await overRest(url, "told", { api_token: token }),
      );
      const pinned = await fetch(`${url}/pin/${encodeURIComponent(value)}`);
      responses.push(`${pinned.status} ${await pinned.text()}`);
      // Its rows hold the values, as its template says.
      await (await fetch(`${url}/loud?password=${encodeURIComponent(value)}`)).text();
    }
    const metrics = await fetch(`${url}/health/ready`).then((response) => response.text());
    expect(responses.filter((text) => holds(text))).toEqual([]);
    await sendPlain(program, { url, mcpUrl });
    const places = { ...(await written(program)), metrics };
    for (const [place, text] of Object.entries(places)) expect([place, holds(text)]).toEqual([place, false]);
    // It was not by silence: the kind of each error is told.
    expect(responses[0]).toBe(
      '500 {"error":"Internal Server Error: Conversion Error: the message is withheld because it may hold a redacted parameter"}',
    );
    expect(responses).toContain('401 {"error":"wrong password"}');
    expect(responses).toContain('403 {"error":"the message is withheld because it may hold a redacted parameter"}');
    expect(responses.join("\n")).toContain("Query failed: Constraint Error: the message is withheld");
    expect(places.audit).toContain('"pin":"[redacted]"');
    expect(places.audit).toContain('"api-token":"[redacted]"');
    expect(places.stderr).toContain("%[redacted]%");
    const lines = places.stderr.split("\n").filter((line) => holds(line, PLAIN));
    // Only where it was asked for.
    expect(lines.map((line) => (JSON.parse(line) as { connections: string }).connections)).toEqual(["loud"]);
    expect(holds(places.stdout, PLAIN)).toBe(false);
    expect(places.stderr).toContain("query failed: Conversion Error: Could not convert string '***' to INT32");
    expect(places.stderr).toContain("query failed: Constraint Error: PRIMARY KEY or UNIQUE constraint violation");
  });

  /** What is not redacted is in the response as the database says it. */
  async function sendPlain(program: Program, { url, mcpUrl }: { readonly url: string; readonly mcpUrl: string }) {
    const plain = `${PLAIN}-3`;
    expect(await overRest(url, "convert", { plain })).toBe(
      `500 {"error":"Internal Server Error: Conversion Error: Could not convert string '${plain}' to INT32"}`,
    );
    expect(await overRest(url, "told", { plain })).toContain(`Invalid Input Error: no ${plain}!`);
    expect(await overMcp(mcpUrl, "told", { plain })).toContain(`Query failed: Invalid Input Error: no ${plain}!`);
    expect(await overRest(url, "pattern", { plain })).toContain(`(${plain}`);
    expect(await overRest(url, "add", { plain })).toContain(`duplicate key \\"${plain}\\"`);
    expect(await overRest(url, "reversed", { plain })).toContain("500");
    expect(await overRest(url, `gone/${plain}`, { plain })).toContain("404");
    await fetch(`${url}/loud?plain=${plain}`).then((response) => response.text());
    await until("the log", () => program.stderr().includes(`\\"${plain}\\"`));
  }
});

const postgres = sharedPostgres();
const needsPostgres = testNeeding(missingPostgres, missingExtensions("postgres_scanner"));

needsPostgres("what Postgres quotes is hidden too: values of rows, and the password of the connection", async () => {
  const server = await postgres();
  const dsn = await server.createDatabase();
  const [, database = ""] = /dbname=(\S+)/.exec(dsn) ?? [];
  await server.sql(
    database.replaceAll("'", ""),
    "CREATE TABLE users (name TEXT PRIMARY KEY, age INT CHECK (age < 100))",
  );
  const endpoints = (connection: string): Record<string, string> => ({
    [`${connection}.yaml`]: `url-path: /${connection}\nmethod: POST\ntemplate-source: ${connection}.sql\nconnection: [${connection}]\nrequest:\n  - { field-name: password, field-in: body }\n  - { field-name: plain, field-in: body }\n`,
    [`${connection}.sql`]: `INSERT INTO ${connection}.users VALUES (concat({{params.password}}, {{params.plain}}), 100)`,
  });
  const wrong = dsn.replace(/password='(?:[^'\\]|\\.)*'/, `password='sEsAmE of mine'`);
  expect(wrong).not.toBe(dsn);
  await using program = await start({
    "eider.yaml": `http-port: 0
duckdb: { extension_directory: '${extensionDirectory("postgres_scanner")}' }
connections:
  pg: { type: postgres, dsn: ${JSON.stringify(dsn)} }
  wrong: { type: postgres, dsn: ${JSON.stringify(wrong)} }
  broken: { init: ${JSON.stringify(`ATTACH 'host=127.0.0.1 password=sEsAmE of mine' AS broken (TYPE postgres)`)} }
audit: { sink: file, path: ./audit.log, redact: [password] }
log: { level: trace, format: json }
`,
    ...endpoints("pg"),
    ...endpoints("wrong"),
    ...endpoints("broken"),
  });
  const url = await program.url();
  const post = async (path: string, body: unknown): Promise<string> => {
    const headers = { "Content-Type": "application/json" };
    const response = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
    return `${response.status} ${await response.text()}`;
  };
  const redacted = [
    await post("/pg", { password: `${MARK}-1` }),
    await post("/wrong", { plain: "x" }),
    await post("/broken", { plain: "x" }),
    await fetch(`${url}/health/ready`).then((response) => response.text()),
  ];
  expect(redacted.filter((text) => holds(text) || /sesame/i.test(text))).toEqual([]);
  expect(redacted[0]).toContain("the message is withheld");
  expect(redacted.slice(1, 3).map((text) => text.slice(0, 3))).toEqual(["503", "503"]);
  expect(await post("/pg", { plain: `${MARK}-2` })).toContain(`(${MARK}-2, 100)`);
  for (const [place, text] of Object.entries(await written(program))) {
    const parts = place === "audit" ? text.replaceAll(`"plain":"${MARK}-2"`, "") : text;
    expect([place, holds(parts), /sesame|of mine/i.test(parts), parts.includes(server.password)]).toEqual([
      place,
      false,
      false,
      false,
    ]);
  }
});
