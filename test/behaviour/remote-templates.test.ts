import { rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCommandLine } from "../../src/cli/run.ts";
import { extensionDirectory, missingExtensions } from "../extensions.ts";
import { testNeeding } from "../needing.ts";
import { testRuntime } from "../runtime.ts";
import { type Files, problemsFrom, serviceFrom, writeFiles } from "../service.ts";
import { startWebFiles } from "../web-files.ts";

const testWithHttp = testNeeding(missingExtensions("httpfs"));

const main = (more = ""): string =>
  `connections: { memory: {} }\nduckdb: { extension_directory: ${extensionDirectory("httpfs")} }\n${more}`;

const endpoint = (source: string, more = ""): string =>
  `url-path: /x\ntemplate-source: ${JSON.stringify(source)}\nconnection: [memory]\nwith-pagination: false\n${more}`;

/** What a start prints about an endpoint whose template is at an address. */
async function problemsAt(source: string, more?: string): Promise<readonly string[]> {
  return await problemsFrom({ "eider.yaml": main(more), "x.yaml": endpoint(source) });
}

testWithHttp("a template and a refresh template are read by URL, in UTF-8", async () => {
  await using web = await startWebFiles({
    "/a%20b/x.sql": "SELECT 'é' AS a, {{params.limit}} AS n",
    "/fill.sql": "SELECT 7 AS n",
    "/cached.sql": "SELECT n FROM {{cache.catalog}}.{{cache.schema}}.{{cache.table}}",
  });
  await using service = await serviceFrom({
    "eider.yaml": main(),
    "x.yaml": endpoint(`${web.url}/a%20b/x.sql`),
    "y.yaml": endpoint(`${web.url}/cached.sql`, `cache: { table: t, template-file: "${web.url}/fill.sql" }\n`).replace(
      "/x",
      "/y",
    ),
  });
  expect(await service.json("/x?limit=3")).toEqual([{ a: "é", n: 3 }]);
  expect(await service.json("/y")).toEqual([{ n: 7 }]);
  expect(service.problems).toEqual([]);
});

testWithHttp("a URL as template.path: templates are there, then beside the YAML, which is local", async () => {
  await using web = await startWebFiles({ "/sql/deep/x.sql": "SELECT 'web' AS a" });
  const files: Files = {
    "eider.yaml": main(`template: { path: "${web.url}/sql/?token=abc" }\n`),
    "api/x.yaml": endpoint("deep/x.sql"),
    "api/y.yaml": endpoint("y.sql").replace("/x", "/y"),
    "api/y.sql": "SELECT 'local' AS a",
  };
  await using service = await serviceFrom(files);
  expect(await service.json("/x")).toEqual([{ a: "web" }]);
  expect(await service.json("/y")).toEqual([{ a: "local" }]);
  expect(web.requests).toContain("GET /sql/deep/x.sql?token=abc");
  expect(await problemsFrom({ ...files, "api/z.yaml": endpoint("../z.sql").replace("/x", "/z") })).toEqual([
    "api/z.yaml:2:18: template-source: the template '../z.sql' leaves template.path and the folder of its YAML file; keep it inside",
  ]);
  expect(await problemsFrom({ ...files, "api/z.yaml": endpoint("z.sql").replace("/x", "/z") })).toEqual([
    "api/z.yaml:2:18: template-source: Template file not found: z.sql",
  ]);
});

testWithHttp("problems inside a remote template name its URL, line and column", async () => {
  await using web = await startWebFiles({ "/x.sql": "SELECT 1 AS a,\n  {{params.nope}} AS b" });
  expect(await problemsAt(`${web.url}/x.sql?sig=abc`)).toEqual([expect.stringContaining(`${web.url}/x.sql?***:2:3: `)]);
});

testWithHttp("what cannot be read is a problem at its key", async () => {
  await using web = await startWebFiles({
    "/forbidden.sql": 403,
    "/broken.sql": 500,
    "/latin.sql": Buffer.from("SELECT '\u00e9'", "latin1"),
    "/silent.sql": (response) => void response.socket?.destroy(),
    "/large.sql": `SELECT 1 -- ${"x".repeat(1_048_576)}`,
  });
  const at = (path: string, reason: string) =>
    `x.yaml:2:18: template-source: the template '${web.url}${path}' cannot be read: ${reason}`;
  const secret = "create a secret in the init of a connection, or use a connection of type s3-secret";
  for (const [path, expected] of [
    ["/none.sql", `x.yaml:2:18: template-source: Template file not found: ${web.url}/none.sql`],
    ["/forbidden.sql", at("/forbidden.sql", `access denied (HTTP 403); ${secret}`)],
    ["/broken.sql", at("/broken.sql", "its server returned HTTP 500")],
    ["/latin.sql", at("/latin.sql", "it is not UTF-8 text")],
    ["/large.sql", at("/large.sql", "it is larger than 1 MiB")],
    ["/silent.sql", at("/silent.sql", "its server closed the connection")],
  ] as const) {
    expect(await problemsAt(web.url + path)).toEqual([expected]);
  }
  const { url } = web;
  await web[Symbol.asyncDispose]();
  expect(await problemsAt(`${url}/x.sql`)).toEqual([
    `x.yaml:2:18: template-source: the template '${url}/x.sql' cannot be read: its server cannot be reached`,
  ]);
  expect(await problemsAt("gopher://host/x.sql")).toEqual([
    "x.yaml:2:18: template-source: the template 'gopher://host/x.sql' cannot be read: its scheme is not supported; use https, s3, gs, r2, az, abfss or hf",
  ]);
});

testWithHttp("S3 denies access: the problem says so, without the secret", async () => {
  await using web = await startWebFiles({ "/bucket/x.sql": 403 });
  const s3 = `type: s3-secret, key-id: my-id, secret: hunter22, url-style: path, use-ssl: "false", endpoint: "${new URL(web.url).host}"`;
  const files = { "eider.yaml": main().replace("memory: {}", `memory: {}, lake: { ${s3} }`) };
  expect(await problemsFrom({ ...files, "x.yaml": endpoint("s3://bucket/x.sql") })).toEqual([
    "x.yaml:2:18: template-source: the template 's3://bucket/x.sql' cannot be read: access denied (HTTP 403); create a secret in the init of a connection, or use a connection of type s3-secret",
  ]);
});

testWithHttp("credentials in a URL are never shown", async () => {
  await using web = await startWebFiles({ "/forbidden.sql": 403, "/broken.sql": 500 });
  const { host } = new URL(web.url);
  for (const path of ["/forbidden.sql", "/broken.sql", "/none.sql"]) {
    const [problem = "", ...others] = await problemsAt(
      `http://annika:hunter22@${host}${path}?X-Amz-Signature=s1gn4ture&x=t0ken`,
    );
    expect(others).toEqual([]);
    expect(problem).toContain(`${web.url}${path}?***`);
    expect(problem).not.toMatch(/annika|hunter22|s1gn4ture|t0ken/);
  }
});

testWithHttp("a server that never responds ends in a problem, once for all its templates", async () => {
  await using web = await startWebFiles({ "/x.sql": () => {}, "/y.sql": () => {} });
  const files = { "x.yaml": endpoint(`${web.url}/x.sql`), "y.yaml": endpoint(`${web.url}/y.sql`).replace("/x", "/y") };
  expect(await problemsFrom({ "eider.yaml": main(), ...files })).toEqual([
    `x.yaml:2:18: template-source: the template '${web.url}/x.sql' cannot be read: its server did not respond in time`,
    `y.yaml:2:18: template-source: the template '${web.url}/y.sql' cannot be read: its server did not respond in time`,
  ]);
});

testWithHttp("settings of the project apply: without external access, nothing is read", async () => {
  await using web = await startWebFiles({ "/x.sql": "SELECT 1 AS a" });
  const closed = main().replace("duckdb: {", "duckdb: { enable_external_access: false,");
  expect(await problemsFrom({ "eider.yaml": closed, "x.yaml": endpoint(`${web.url}/x.sql`) })).toEqual([
    expect.stringMatching(/^x\.yaml:2:18: template-source: the template .* cannot be read: .*disabled/i),
  ]);
  expect(web.requests).toEqual([]);
});

test("check --offline reads nothing remote, and says so", async () => {
  await using web = await startWebFiles();
  const folder = await writeFiles({
    "eider.yaml": `connections: { memory: {} }\ntemplate: { path: "${web.url}" }\n`,
    "x.yaml": endpoint("x.sql", "cache: { table: t }\n"),
    "y.yaml": endpoint(join("/", "nowhere", "y.sql")).replace("/x", "/y"),
    "z.yaml":
      "url-path: /z\nmethod: POST\ntemplate-source: z.sql\nconnection: memory\ncache: { table: t, refresh-on-write: true }\n",
  });
  const runtime = testRuntime({ cwd: folder });
  const code = await runCommandLine(["check", "--offline"], runtime);
  await rm(folder, { recursive: true });
  expect(code).toBe(1);
  expect(runtime.stderrText().split("\n")).toEqual([
    "x.yaml:2:1: warning: template-source: the template is remote and was not read; the endpoint was not checked",
    "y.yaml:2:18: template-source: Template file not found: /nowhere/y.sql",
    "z.yaml:3:1: warning: template-source: the template is remote and was not read; the endpoint was not checked",
    "",
  ]);
  expect(web.requests).toEqual([]);
});
