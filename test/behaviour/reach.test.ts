import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { blocksOf } from "../markdown.ts";
import { endpoint, problemsFrom, serviceFrom } from "../service.ts";

const MAIN = "connections:\n  memory:\n    init: CREATE TABLE t AS SELECT range AS id FROM range(3)\n";
const POST = "method: POST\n";

const problems = (sql: string, yaml = ""): Promise<string[]> =>
  problemsFrom({ "eider.yaml": MAIN, ...endpoint(sql, yaml) });

const setting = (name: string): string => `current_setting('${name}')::VARCHAR AS ${name}`;
const status = (yaml: string, ...names: readonly string[]) => ({
  "eider.yaml": yaml,
  "status.yaml": "url-path: /status\ntemplate-source: status.sql\nconnection: [memory]\nwith-pagination: false\n",
  "status.sql": `SELECT ${names.map(setting).join(", ")}\n`,
});

describe("what a template may do beyond its data is what operation.allow says", () => {
  test.each([
    ["ATTACH ':memory:' AS other; DETACH other", "attach"],
    ["CHECKPOINT", "checkpoint"],
    ["COPY t TO '/tmp/never-written.csv'", "copy"],
    ["EXPORT DATABASE '/tmp/never-written'", "copy"],
    ["LOAD json", "load"],
    ["DROP SECRET IF EXISTS s", "secret"],
    ["SET TimeZone = 'UTC'", "set"],
    ["USE memory", "set"],
  ])("%s needs %s", async (sql, power) => {
    expect(await problems(sql, `${POST}operation: { allow: [${power}] }\n`)).toEqual([]);
    const refused = expect.stringMatching(`must not run .* unless operation\\.allow lists '${power}'; `);
    expect(await problems(sql, POST)).toContainEqual(refused);
    // A read is told what to do instead.
    const instead = /a template must not run [\w ]+; (?!.*operation\.allow)/;
    expect(await problems(sql)).toContainEqual(expect.stringMatching(instead));
  });

  test.each([
    ["SET VARIABLE a = 1; SELECT getvariable('a') AS a"],
    ["PRAGMA table_info('t')"],
    ["CALL pragma_version()"],
    ["SHOW TABLES"],
  ])("a read may %s", async (sql) => {
    expect(await problems(sql)).toEqual([]);
  });
});

test("a write that may copy copies, one that may set sets for itself alone", async () => {
  const folder = mkdtempSync(join(tmpdir(), "eider-reach-"));
  try {
    await using service = await serviceFrom({
      ...status(MAIN, "TimeZone"),
      "copy.yaml": `url-path: /copy\n${POST}template-source: copy.sql\nconnection: [memory]\noperation: { allow: copy }\n`,
      "copy.sql": `COPY t TO '${folder}/t.csv'`,
      "zone.yaml": `url-path: /zone\n${POST}template-source: zone.sql\nconnection: [memory]\noperation: { allow: [set], returns-data: true }\n`,
      "zone.sql": "SET TimeZone = 'Asia/Tokyo'; SELECT current_setting('TimeZone') AS zone",
    });
    expect((await service.request("/copy", { method: "POST" })).status).toBe(200);
    expect(readFileSync(join(folder, "t.csv"), "utf8")).toBe("id\n0\n1\n2\n");
    const before = await service.json("/status");
    const answer = await service.request("/zone", { method: "POST" });
    expect(await answer.json()).toEqual({ rows_affected: 0, data: [{ zone: "Asia/Tokyo" }] });
    expect(await service.json("/status")).toEqual(before);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

describe("after the start", () => {
  test("settings are locked and nothing is installed, unless the project says otherwise", async () => {
    const names = ["lock_configuration", "autoinstall_known_extensions"];
    await using service = await serviceFrom(status(MAIN, ...names));
    expect(await service.json("/status")).toEqual([
      { lock_configuration: "true", autoinstall_known_extensions: "false" },
    ]);
    await using open = await serviceFrom(status(`${MAIN}duckdb: { lock_configuration: false }\n`, ...names));
    expect(await open.json("/status")).toEqual([
      { lock_configuration: "false", autoinstall_known_extensions: "false" },
    ]);
  });

  test("what an init sets holds for every request", async () => {
    const main = "connections:\n  memory: { init: SET TimeZone = 'Asia/Tokyo' }\n";
    await using service = await serviceFrom(status(main, "TimeZone", "lock_configuration"));
    const answers = await Promise.all(Array.from({ length: 20 }, () => service.json("/status")));
    for (const answer of answers) expect(answer).toEqual([{ TimeZone: "Asia/Tokyo", lock_configuration: "true" }]);
  });
});

test("the example of the documentation: SQL reaches the files of one folder, and no other", async () => {
  const page = readFileSync(join(import.meta.dirname, "../../docs/security.md"), "utf8");
  const example = blocksOf(page).find(({ text }) => text.includes("allowed_directories"));
  const [inside, outside] = ["inside", "outside"].map((name) => mkdtempSync(join(tmpdir(), `eider-${name}-`))) as [
    string,
    string,
  ];
  try {
    for (const folder of [inside, outside]) writeFileSync(join(folder, "x.csv"), "n\n1\n");
    const main = `connections:\n  memory: {}\n${(example?.text ?? "").replaceAll("/srv/data", inside)}`;
    expect(main).toContain(inside);
    const reads = (from: string) => ({
      "eider.yaml": main,
      ...endpoint(`SELECT * FROM ${from}`, "with-pagination: false\n"),
    });
    await using service = await serviceFrom(reads(`'${inside}/x.csv'`));
    expect(await service.json("/x")).toEqual([{ n: 1 }]);
    const around = `${inside}/..${outside.slice(tmpdir().length)}`;
    for (const from of [`'${outside}/x.csv'`, `'${around}/x.csv'`, "read_text('/etc/passwd')"]) {
      expect(await problemsFrom(reads(from))).toEqual([
        expect.stringMatching(/^x\.sql:1:\d+: Permission Error: Cannot access file .* disabled by configuration$/),
      ]);
    }
  } finally {
    for (const folder of [inside, outside]) rmSync(folder, { recursive: true });
  }
});
