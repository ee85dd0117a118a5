import { rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { until } from "../until.ts";
import { type Program, start, startHere } from "./program.ts";

const MAIN = "http-port: 0\nconnections:\n  memory: {}\n";

/** An endpoint file and its SQL. */
function files(name: string, sql: string, yaml = "with-pagination: false\n"): Record<string, string> {
  return {
    [`${name}.yaml`]: `url-path: /${name}\ntemplate-source: ${name}.sql\nconnection: [memory]\n${yaml}`,
    [`${name}.sql`]: sql,
  };
}

async function save(program: Program, changed: Record<string, string>): Promise<void> {
  await Promise.all(Object.entries(changed).map(([name, text]) => writeFile(join(program.folder, name), text)));
}

const reloads = (program: Program): number => program.stderr().split("reloaded: ").length - 1;

test("a new endpoint answers soon after its file is saved; ten files at once are one reload", async () => {
  await using program = await startHere(
    { "eider.yaml": MAIN, ...files("one", "SELECT 1 AS a") },
    { args: ["serve", "--watch"] },
  );
  const url = await program.url();
  expect((await fetch(`${url}/fresh`)).status).toBe(404);
  await save(program, files("fresh", "SELECT 2 AS a"));
  await until("the new endpoint", async () => (await fetch(`${url}/fresh`)).status === 200);
  await until("the line", () => reloads(program) === 1 || undefined);
  await save(program, Object.assign({}, ...["a", "b", "c", "d", "e"].map((name) => files(name, "SELECT 3 AS a"))));
  await until("the last of them", async () => (await fetch(`${url}/e`)).status === 200 || undefined);
  for (const name of ["a", "b", "c", "d", "e"])
    expect(await (await fetch(`${url}/${name}`)).json()).toEqual([{ a: 3 }]);
  await until("the line", () => reloads(program) === 2 || undefined);
});

test("a change with problems is reported and changes nothing; fixing it reloads", async () => {
  await using program = await startHere(
    { "eider.yaml": MAIN, ...files("one", "SELECT 1 AS a") },
    { args: ["serve", "--watch"] },
  );
  const url = await program.url();
  await save(program, { "one.sql": "SELECT 1 AS" });
  await until("the problem", () => /^one\.sql:1:\d+: /m.exec(program.stderr()));
  await until("the refusal", () => /reload failed/.exec(program.stderr()));
  expect(await (await fetch(`${url}/one`)).json()).toEqual([{ a: 1 }]);
  await save(program, { "one.yaml": "url-paht: /one\n" });
  await until("the other problem", () => /^one\.yaml:1:1: .*did you mean/m.exec(program.stderr()));
  expect(await (await fetch(`${url}/one`)).json()).toEqual([{ a: 1 }]);
  await save(program, files("one", "SELECT 5 AS a"));
  await until("the fixed endpoint", async () =>
    (await (await fetch(`${url}/one`)).text()) === '[{"a":5}]' ? true : undefined,
  );
  await rm(join(program.folder, "one.yaml"));
  await until("its end", async () => (await fetch(`${url}/one`)).status === 404 || undefined);
});

test("editors that put a new file in the place of the old one are noticed, in the main file too", async () => {
  const folders = { "eider.yaml": `${MAIN}template:\n  path: sqls\n`, "sqls/one.yaml": "", "shared/limits.yaml": "" };
  const one = "url-path: /one\ntemplate-source: one.sql\nconnection: [memory]\nwith-pagination: false\n";
  await using program = await startHere(
    { ...folders, "sqls/one.yaml": one, "sqls/one.sql": "SELECT 1 AS a" },
    { args: ["--watch"] },
  );
  const url = await program.url();
  const place = join(program.folder, "eider.yaml");
  await writeFile(`${place}.tmp`, `${MAIN}project-name: Renamed\ntemplate:\n  path: sqls\n`);
  await rename(`${place}.tmp`, place);
  await until("the new name", async () => {
    const { info } = (await (await fetch(`${url}/docs`)).json()) as { info: { title: string } };
    return info.title === "Renamed" || undefined;
  });
});

test("SIGHUP reloads; tables in memory survive, and calls in flight keep their state", async () => {
  await using program = await start({
    "eider.yaml": "http-port: 0\nconnections:\n  memory:\n    init: CREATE TABLE t (a INT)\n",
    ...files("add", "INSERT INTO t VALUES (7)", "method: POST\n"),
    ...files("read", "SELECT a FROM t"),
    ...files("slow", "SELECT 'old' AS n, sleep_ms(1500) AS slept"),
  });
  const url = await program.url();
  expect((await fetch(`${url}/add`, { method: "POST" })).status).toBe(200);
  const slow = fetch(`${url}/slow`);
  await save(program, { ...files("read", "SELECT a, 'new' AS b FROM t"), ...files("slow", "SELECT 'other' AS n") });
  program.signal("SIGHUP");
  await until("the new state", async () =>
    (await (await fetch(`${url}/read`)).text()) === '[{"a":7,"b":"new"}]' ? true : undefined,
  );
  expect(await (await fetch(`${url}/slow`)).json()).toEqual([{ n: "other" }]);
  expect(await (await slow).json()).toEqual([{ n: "old", slept: null }]);
  program.signal("SIGTERM");
  expect(await program.exited).toEqual({ code: 0, signal: null });
});

test("other connections reopen the database, while requests wait; if that fails, the old one stays", async () => {
  const main = (init: string) => `http-port: 0\nconnections:\n  memory:\n    lazy: false\n    init: ${init}\n`;
  await using program = await startHere({
    "eider.yaml": main("CREATE TABLE t AS SELECT 1 AS a"),
    ...files("read", "SELECT a FROM t"),
  });
  const url = await program.url();
  const read = async (): Promise<string> => (await fetch(`${url}/read`)).text();
  expect(await read()).toBe('[{"a":1}]');
  await save(program, { "eider.yaml": main("CREATE TABLE t AS SELECT 2 AS a") });
  program.signal("SIGHUP");
  const answers = new Set<string>();
  await until("the new database", async () => {
    answers.add(await read());
    return answers.has('[{"a":2}]') || undefined;
  });
  expect([...answers].filter((answer) => !['[{"a":1}]', '[{"a":2}]'].includes(answer))).toEqual([]);
  await save(program, { "eider.yaml": main("CREATE TABLE t AS SELECT * FROM read_csv('missing.csv')") });
  program.signal("SIGHUP");
  await until("the refusal", () => /reload failed/.exec(program.stderr()));
  expect(await read()).toBe('[{"a":2}]');
});

test("what is read at start only is told", async () => {
  await using program = await startHere({ "eider.yaml": MAIN, ...files("one", "SELECT 1 AS a") });
  await program.url();
  await save(program, { "eider.yaml": `${MAIN}http-host: localhost\n` });
  program.signal("SIGHUP");
  await until("the line", () => /http-host has changed; restart to apply it/.exec(program.stderr()));
});

test("dev prints the address of the page, a line for each request, and problems; plain in a pipe", async () => {
  await using program = await start({ "eider.yaml": MAIN, ...files("one", "SELECT 1 AS a") }, { args: ["dev"] });
  const url = await program.url();
  await until("the address", () => program.stdout().includes(`Documentation at ${url}/docs\n`) || undefined);
  await fetch(`${url}/one?x=1`);
  await fetch(`${url}/none`);
  await until("the lines", () => /GET \/none 404 /.exec(program.stdout()));
  expect(program.stdout()).toMatch(/^GET \/one 200 1 row \d+(?:\.\d)? ms$/m);
  const document = (await (await fetch(`${url}/docs`)).json()) as Record<string, unknown>;
  expect(document["x-eider-events"]).toBe("docs/events");
  const events = await fetch(`${url}/docs/events`);
  const reader = events.body?.getReader();
  await save(program, { "one.sql": "SELECT 2 AS a" });
  let told = "";
  while (!told.includes("event: reload")) told += Buffer.from((await reader?.read())?.value ?? "").toString();
  expect(await (await fetch(`${url}/one`)).json()).toEqual([{ a: 2 }]);
  program.signal("SIGTERM");
  expect(await program.exited).toEqual({ code: 0, signal: null });
});
