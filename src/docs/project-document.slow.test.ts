import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { everyKind } from "../../test/openapi-project.ts";
import { folderWith } from "../../test/process/program.ts";
import { type Files, serviceFrom } from "../../test/service.ts";
import { describeProject, openProjectDocument } from "./project-document.ts";

interface Document {
  readonly servers: readonly { readonly url: string }[];
  readonly components: { readonly schemas: Readonly<Record<string, { readonly required?: readonly string[] }>> };
}

test("each who asks finds the address that it asked", async () => {
  await using service = await serviceFrom(everyKind);
  const { current } = openProjectDocument({ ...service.service, now: () => 0 });
  const document = await current();
  for (const url of ["https://api.example.com", 'http://odd"address\\']) {
    const json = JSON.parse(document.json(url)) as Document;
    expect(json).toEqual({ ...(await describeProject(service.service, [url])), servers: [{ url }] });
    expect(parse(document.yaml(url))).toEqual(json);
  }
  expect(await current()).toBe(document);
});

test("what was not known is asked for again, after a while", async () => {
  await using folder = await folderWith({});
  const file = join(folder.path, "late.csv");
  await using service = await serviceFrom(
    {
      "eider.yaml": `connections: { late: { init: "CREATE TABLE late AS FROM '\${FILE}'" } }\ntemplate: { environment-whitelist: [FILE] }\n`,
      "late.yaml": "url-path: /table\ntemplate-source: late.sql\nconnection: [late]\n",
      "late.sql": "SELECT items, worth FROM late",
    },
    { FILE: file },
  );
  let now = 1_000;
  const { current } = openProjectDocument({ ...service.service, now: () => now });
  const columns = async () =>
    (JSON.parse((await current()).json("http://x")) as Document).components.schemas["GetTableRow"];
  const first = await current();
  expect(await columns()).not.toHaveProperty("required");
  // The connection is opened by the first read after its data source is there.
  await writeFile(file, "items,worth\n1,2\n");
  expect((await service.get("/table")).status).toBe(200);
  expect(await columns()).not.toHaveProperty("required");
  now += 5_000;
  const [second, third] = await Promise.all([current(), current()]);
  expect(second).toBe(third);
  expect(second).not.toBe(first);
  expect(await columns()).toMatchObject({ required: ["items", "worth"] });
});

function manyEndpoints(count: number): Files {
  const files: Record<string, string> = {
    "eider.yaml":
      "connections:\n  memory: { init: 'CREATE TABLE t (id INTEGER, name VARCHAR, day DATE, price DECIMAL(12, 2), n BIGINT)' }\n",
  };
  for (let i = 0; i < count; i++) {
    files[`e${i}.yaml`] = `url-path: /things-${i}/:id
template-source: e${i}.sql
connection: [memory]
description: Things of kind ${i}.
request:
  - { field-name: id, field-in: path, required: true, validators: [{ type: int, min: 1 }] }
  - { field-name: name, field-in: query, validators: [{ type: string, max: 20 }] }
`;
    files[`e${i}.sql`] =
      `SELECT *, ${i} AS k FROM t WHERE id = {{params.id}} {{#params.name}} AND name = '{{{params.name}}}' {{/params.name}}`;
  }
  return files;
}

test("many endpoints are documented once", async () => {
  await using service = await serviceFrom(manyEndpoints(100));
  const { current } = openProjectDocument({ ...service.service, now: () => 0 });
  const document = await current();
  const text = document.json("http://a");
  expect(Object.keys((JSON.parse(text) as { paths: object }).paths)).toHaveLength(100);
  // Parts that endpoints share are there once.
  expect(text.length).toBeLessThan(270_000);
  expect(await current()).toBe(document);
});
