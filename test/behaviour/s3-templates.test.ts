import { expect } from "vitest";
import { extensionDirectory, missingExtensions } from "../extensions.ts";
import { sharedMoto } from "../moto.ts";
import { testNeeding } from "../needing.ts";
import { missingPython } from "../python.ts";
import { problemsFrom, serviceFrom } from "../service.ts";

const testWithS3 = testNeeding(missingExtensions("httpfs"), missingPython("moto.server"));
const sharedServer = sharedMoto();

/** Objects in a new bucket. */
async function bucketWith(name: string, objects: Readonly<Record<string, string>>): Promise<string> {
  const { url } = await sharedServer();
  expect((await fetch(`${url}/${name}`, { method: "PUT" })).ok).toBe(true);
  for (const [key, body] of Object.entries(objects)) {
    expect((await fetch(`${url}/${name}/${key}`, { method: "PUT", body })).ok).toBe(true);
  }
  return url.replace("http://", "");
}

const X = "url-path: /x\ntemplate-source: x.sql\nconnection: [memory]\nwith-pagination: false\n";

/** A project whose secret is a connection of its own, which no endpoint names. */
const main = (endpoint: string, more: string): string =>
  `connections:\n  memory: {}\n  lake:\n    type: s3-secret\n    key-id: test-id\n    secret: s3cr3t-key\n    region: us-east-1\n    endpoint: ${endpoint}\n    url-style: path\n    use-ssl: "false"\nduckdb: { extension_directory: ${extensionDirectory("httpfs")} }\n${more}`;

testWithS3("templates in S3, with the secret of a connection", async () => {
  const endpoint = await bucketWith("templates", { "sql/x.sql": "SELECT 's3' AS a" });
  await using service = await serviceFrom({
    "eider.yaml": main(endpoint, ""),
    "x.yaml": X.replace("x.sql", "s3://templates/sql/x.sql"),
  });
  expect(await service.json("/x")).toEqual([{ a: "s3" }]);
  expect(
    await problemsFrom({
      "eider.yaml": main(endpoint, ""),
      "x.yaml": X.replace("x.sql", "s3://templates/sql/none.sql"),
    }),
  ).toEqual(["x.yaml:2:18: template-source: Template file not found: s3://templates/sql/none.sql"]);
});

testWithS3("a folder in S3 as template.path holds endpoint files, too", async () => {
  const endpoint = await bucketWith("project", {
    "api/deep/x.yaml": X,
    "api/deep/x.sql": "SELECT 'beside' AS a",
    "api/y.yml": X.replace("/x", "/y").replace("x.sql", "sub/y.sql"),
    "api/sub/y.sql": "SELECT 'below' AS a",
    "api/.hidden/z.yaml": "url-path: broken",
    "api/notes.yaml": "- a list\n",
    "elsewhere/w.yaml": "url-path: broken",
  });
  const at = (path: string): string => main(endpoint, `template: { path: ${path} }\n`);
  await using service = await serviceFrom({ "eider.yaml": at("s3://project/api/"), "local.yaml": "url-path: broken" });
  expect(await service.json("/x")).toEqual([{ a: "beside" }]);
  expect(await service.json("/y")).toEqual([{ a: "below" }]);
  expect(service.problems).toEqual([]);

  expect(
    await problemsFrom({
      "eider.yaml": at("s3://project/nothing"),
      "x.yaml": X,
      "x.sql": "SELECT 1 AS a",
    }),
  ).toEqual([
    expect.stringMatching(
      /template\.path: s3:\/\/project\/nothing contains no YAML files; the folder of the configuration/,
    ),
  ]);
  expect(await problemsFrom({ "eider.yaml": at("s3://no-such-bucket/api") })).toEqual([
    expect.stringMatching(/template\.path: s3:\/\/no-such-bucket\/api cannot be read: it does not exist/),
  ]);
});

testWithS3("problems in remote endpoint files name the object; includes are for local files", async () => {
  const endpoint = await bucketWith("mistakes", {
    "x.yaml": `${X}{{include:auth from shared.yaml}}\nmethod: FETCH\n`,
    "shared.yaml": "auth: { enabled: false }\n",
    "x.sql": "SELECT 1 AS a",
  });
  expect(await problemsFrom({ "eider.yaml": main(endpoint, "template: { path: s3://mistakes }\n") })).toEqual([
    expect.stringMatching(/^s3:\/\/mistakes\/x\.yaml:5:1: .*a remote file cannot include another/),
    expect.stringMatching(/^s3:\/\/mistakes\/x\.yaml:6:9: method: /),
  ]);
});

testWithS3("a secret that cannot be created is named when a template cannot be read", async () => {
  const directory = `duckdb: { extension_directory: ${extensionDirectory("httpfs")} }\n`;
  const init = "CREATE TABLE t (n INT); CREATE SECRET broken (TYPE s3, SECRET 's3cr3t-key', NONSENSE 'x')";
  const [problem, ...others] = await problemsFrom({
    "eider.yaml": `connections:\n  memory: {}\n  lake: { init: "${init}" }\n${directory}`,
    "x.yaml": X.replace("x.sql", "s3://a-bucket-without-credentials/x.sql"),
  });
  expect(problem).toMatch(/^x\.yaml:2:18: .* cannot be read: .*; the init of connection 'lake' failed: .*NONSENSE/i);
  expect(problem).not.toContain("s3cr3t-key");
  expect(others).toEqual([]);
});
