import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createDataFiles, ODD_NAMES, oddRows } from "../data-files.ts";
import { extensionDirectory, missingExtensions } from "../extensions.ts";
import { testNeeding } from "../needing.ts";
import { missingSmallDisk, smallDisk } from "../small-disk.ts";
import { type Files, folderWith, type Program, run, runHere, startHere } from "./program.ts";

const ZONES: Files = { "zones.csv": "zone_id,name\r\n1,North\r\n2,O'Brien Street\r\n" };

/** Serves data files of a folder on a free port. */
function devOf(folder: string, ...names: readonly string[]): Promise<Program> {
  return startHere({}, { args: ["dev", "-p", "0", ...names.map((name) => join(folder, name))] });
}

async function jsonOf(program: Program, path: string): Promise<unknown> {
  return (await fetch(`${await program.url()}${path}`)).json();
}

async function everythingIn(folder: string): Promise<readonly string[]> {
  return (await readdir(folder, { recursive: true })).sort();
}

describe("init", () => {
  test("a project that works at once", async () => {
    await using folder = await folderWith({});
    const { code, stdout, stderr } = await run({}, { args: ["init", "my shop"], cwd: folder.path });
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(
      /\nNext:\n {2}cd 'my shop'\n {2}eider dev\n {2}curl 'http:\/\/127\.0\.0\.1:8080\/products\?limit=3'\n$/,
    );
    expect(await everythingIn(join(folder.path, "my shop"))).toEqual([
      ".env.example",
      ".gitignore",
      ".vscode",
      ".vscode/eider-endpoint.schema.json",
      ".vscode/eider.schema.json",
      ".vscode/settings.json",
      "data",
      "data/products.csv",
      "eider.yaml",
      "endpoints",
      "endpoints/products-by-key.sql",
      "endpoints/products-by-key.yaml",
      "endpoints/products-summary.sql",
      "endpoints/products-summary.yaml",
      "endpoints/products.sql",
      "endpoints/products.test.yaml",
      "endpoints/products.yaml",
    ]);
    const config = join(folder.path, "my shop/eider.yaml");
    const tested = await run({}, { args: ["test", "-c", config] });
    expect([tested.code, tested.stderr]).toEqual([0, ""]);
    expect(tested.stdout).toContain("(2 of 2 passed)");
    expect(await run({}, { args: ["check", "--strict", "-c", config] })).toEqual({
      code: 0,
      stdout: "3 endpoints, no problems\n",
      stderr: "",
    });
    await using program = await startHere({}, { args: ["-c", config, "-p", "0"] });
    expect(await jsonOf(program, "/products/6")).toMatchObject({ name: "Climbing rope, 60 m", price: 159 });
    expect(await jsonOf(program, "/products?category=shoes&sort=price&order=desc&limit=1")).toMatchObject({
      data: [{ name: "Hiking boots", added: "2024-01-08" }],
      total_count: 4,
    });
  });

  test("the sample data are described as Eider finds them", async () => {
    await using folder = await folderWith({});
    await runHere({}, { args: ["init", "a"], cwd: folder.path });
    const from = join(folder.path, "a/data/products.csv");
    await runHere({}, { args: ["init", "b", "--from", from], cwd: folder.path });
    for (const file of ["products", "products-by-key", "products-summary"].flatMap((name) => [
      `${name}.yaml`,
      `${name}.sql`,
    ])) {
      const [a, b] = await Promise.all(
        ["a", "b"].map((name) => readFile(join(folder.path, name, "endpoints", file), "utf8")),
      );
      expect(b).toBe(a);
    }
  });

  test("the editor finds the schemas of the YAML files", async () => {
    await using folder = await folderWith({});
    await runHere({}, { args: ["init"], cwd: folder.path });
    const settings = JSON.parse(await readFile(join(folder.path, ".vscode/settings.json"), "utf8"));
    const kinds = { "./.vscode/eider.schema.json": "main", "./.vscode/eider-endpoint.schema.json": "endpoint" };
    expect(Object.keys(settings["yaml.schemas"])).toEqual(Object.keys(kinds));
    for (const [file, kind] of Object.entries(kinds)) {
      const { stdout } = await runHere({}, { args: ["schema", kind] });
      expect(await readFile(join(folder.path, file), "utf8")).toBe(stdout);
    }
  });

  test("the endpoint test has the form of endpoint tests, and is no endpoint", async () => {
    await using folder = await folderWith({});
    await runHere({}, { args: ["init"], cwd: folder.path });
    expect(await readFile(join(folder.path, "endpoints/products.test.yaml"), "utf8")).toBe(`endpoint: /products
tests:
  - name: one row per page
    request:
      query:
        limit: "1"
    expect:
      status: 200
      rows: 1
  - name: a negative limit is rejected
    request:
      query:
        limit: "-1"
    expect:
      status: 400
      errors:
        - field: limit
          message: Integer is less than the minimum allowed value
`);
    await using program = await startHere({}, { args: ["-c", join(folder.path, "eider.yaml"), "-p", "0"] });
    const response = await fetch(`${await program.url()}/products?limit=-1`);
    expect([response.status, await response.json()]).toEqual([
      400,
      { errors: [{ field: "limit", message: "Integer is less than the minimum allowed value" }] },
    ]);
  });

  test("beside other files; a second time, it says which files are in its way and writes nothing", async () => {
    await using folder = await folderWith({ ...ZONES, "notes.txt": "x" });
    const args = ["init", "--from", "zones.csv"];
    const first = await runHere({}, { args, cwd: folder.path });
    expect([first.code, first.stdout]).toEqual([0, expect.stringContaining("\nNext:\n  eider check\n")]);
    expect(await readFile(join(folder.path, "eider.yaml"), "utf8")).toContain('    path: "./zones.csv"\n');
    await writeFile(join(folder.path, "eider.yaml"), "# mine\n");
    const before = await everythingIn(folder.path);
    const second = await run({}, { args, cwd: folder.path });
    expect([second.code, second.stdout]).toEqual([1, ""]);
    expect(second.stderr).toMatch(/^eider: these files already exist, so nothing was written: eider\.yaml, .*\n$/);
    expect(await readFile(join(folder.path, "eider.yaml"), "utf8")).toBe("# mine\n");
    expect(await everythingIn(folder.path)).toEqual(before);
  });

  test("files elsewhere, with odd names", async () => {
    await using folder = await folderWith({
      "in put/Größe [1] *.csv": "id,x\n1,2\n",
      "in put/顧客.json": '[{"id":7}]',
    });
    const from = ["in put/Größe [1] *.csv", "in put/顧客.json"];
    const made = await runHere({}, { args: ["init", "new/project", "--from", ...from], cwd: folder.path });
    expect([made.code, made.stderr]).toEqual([0, ""]);
    const config = join(folder.path, "new/project/eider.yaml");
    expect(await runHere({}, { args: ["check", "-c", config] })).toMatchObject({
      code: 0,
      stdout: "6 endpoints, no problems\n",
    });
    await using program = await startHere({}, { args: ["-c", config, "-p", "0"] });
    expect(await jsonOf(program, "/gro-e-1/1")).toEqual({ id: 1, x: 2 });
    expect(await jsonOf(program, "/data/7")).toEqual({ id: 7 });
  });

  test.each([
    ["a file that is not there", {}, ["gone.csv"], "gone.csv: not found"],
    ["a folder", { "a/b.csv": "x" }, ["a"], "a: is a folder; name the files in it"],
    ["a file that is no data", { "a.txt": "x" }, ["a.txt"], "a.txt: not a data file; expected"],
    ["an empty file", { "a.csv": "" }, ["a.csv"], "a.csv: the file is empty"],
    [
      "text that is not Parquet",
      { "a.parquet": "x".repeat(99) },
      ["a.parquet"],
      "a.parquet: cannot be read as parquet: ",
    ],
    ["broken JSON", { "a.json": '[{"a":' }, ["a.json"], "a.json: cannot be read as json: "],
    [
      "bytes that are not CSV",
      { "a.csv": "\u0000\u0001,\n\u0002".repeat(99) },
      ["a.csv"],
      "a.csv: cannot be read as csv: ",
    ],
    [
      "one good file and a bad one",
      { ...ZONES, "a.json": "{" },
      ["zones.csv", "a.json"],
      "a.json: cannot be read as json: ",
    ],
    ["a path that YAML would change", { "{x}.csv": "a\n1\n" }, ["{x}.csv"], "rename the file or its folder"],
  ])("%s: one line, and nothing is written", async (_, files: Files, from, message) => {
    await using folder = await folderWith(files);
    const before = await everythingIn(folder.path);
    const { code, stdout, stderr } = await runHere({}, { args: ["init", "new", "--from", ...from], cwd: folder.path });
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(/^eider: [^\n]*\n$/);
    expect(stderr).toContain(message);
    expect(await everythingIn(folder.path)).toEqual(before);
  });

  test.each([
    [["init", "a", "b.csv"], "init takes one folder; to use data files, write --from b.csv"],
    [["init", "--from"], "--from: name one or more files"],
    [["init", "--form", "a.csv"], "init: unknown option '--form'"],
    [["dev", "-c", "eider.yaml", "a.csv"], "dev takes --config or data files, not both"],
  ])("wrong usage: %j", async (args, message) => {
    expect(await runHere({}, { args })).toEqual({
      code: 2,
      stdout: "",
      stderr: `eider: ${message}\nTry: eider --help\n`,
    });
  });

  testNeeding(missingSmallDisk)("on a full disk, nothing stays", async () => {
    await using disk = smallDisk(1);
    await disk.fill(40_000);
    const { code, stderr } = await runHere({}, { args: ["init", "new"], cwd: disk.path });
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^eider: cannot write .*: the disk is full; nothing was written\n$/),
    ]);
    expect(await everythingIn(disk.path)).toEqual(["ballast"]);
  });
});

describe("dev with data files", () => {
  test("serves them and says how to keep them, and writes nothing", async () => {
    await using folder = await folderWith({
      ...ZONES,
      "eider.yaml": "nonsense: 1\n",
      "endpoints/x.yaml": "url-path: /x\n",
    });
    const before = await everythingIn(folder.path);
    await using program = await startHere(
      { ...ZONES, "endpoints/x.yaml": "url-path: /x\n" },
      { args: ["dev", "-p", "0", "zones.csv"] },
    );
    const url = await program.url();
    expect(program.stdout()).toBe(
      `GET /zones\nGET /zones/:zone_id\nGET /zones/summary\nTo keep these endpoints: eider init --from zones.csv\nREST listening on ${url}\nDocumentation at ${url}/docs\n`,
    );
    expect(await jsonOf(program, "/zones?name=O'Brien+Street")).toEqual({
      data: [{ zone_id: 2, name: "O'Brien Street" }],
      next: "",
      total_count: 1,
    });
    expect(await jsonOf(program, "/zones/summary")).toEqual([
      { column: "zone_id", values: 2, nulls: 0, min: "1", max: "2" },
      { column: "name", values: 2, nulls: 0, min: "North", max: "O'Brien Street" },
    ]);
    expect((await fetch(`${url}/zones/3`)).status).toBe(404);
    expect((await fetch(`${url}/docs`)).status).toBe(200);
    expect(await everythingIn(folder.path)).toEqual(before);
    expect(await everythingIn(program.folder)).toEqual(["endpoints", "endpoints/x.yaml", "zones.csv"]);
  });

  test("what it serves is what init writes", async () => {
    await using folder = await folderWith(ZONES);
    await using program = await startHere(ZONES, { args: ["dev", "-p", "0", "zones.csv"] });
    const served = await jsonOf(program, "/openapi.json");
    await runHere({}, { args: ["init", "--from", "zones.csv"], cwd: folder.path });
    await using kept = await startHere({}, { args: ["-c", join(folder.path, "eider.yaml"), "-p", "0"] });
    const written = await jsonOf(kept, "/openapi.json");
    expect(withoutAddress(written)).toEqual(withoutAddress(served));
    expect(Object.keys((served as { paths: object }).paths)).toEqual(expect.arrayContaining(["/zones/{zone_id}"]));
  });

  test("every kind of file, and every table of a database", async () => {
    await using folder = await folderWith({
      "a.tsv": "id\td\n1\t31.12.2024\n2\t30.11.2024\n",
      "b.ndjson": '{"id":"x","n":{"m":[1]}}\n{"id":"y"}\n',
      "c.json": '[{"ID":1,"id":2}]',
    });
    const at = (name: string): string => join(folder.path, name);
    await createDataFiles(
      `COPY (SELECT i AS id, i % 3 AS g FROM range(5000) r(i)) TO '${at("d.parquet")}'`,
      `COPY (SELECT 1 AS id, TIMESTAMP '2024-01-01' AS at WHERE false) TO '${at("e.parquet")}'`,
      `ATTACH '${at("shop.db")}' AS shop`,
      "CREATE TABLE shop.customers (number INTEGER PRIMARY KEY, name TEXT)",
      "INSERT INTO shop.customers VALUES (7, 'Ann')",
      "CREATE SCHEMA shop.old; CREATE TABLE shop.old.customers AS SELECT 'a' AS code, 1 AS n UNION ALL SELECT 'a', 2",
      "CREATE VIEW shop.names AS SELECT name FROM shop.customers",
      "DETACH shop",
    );
    await using program = await devOf(folder.path, "a.tsv", "b.ndjson", "c.json", "d.parquet", "e.parquet", "shop.db");
    await program.url();
    expect(
      program
        .stdout()
        .split("\n")
        .filter((line) => line.startsWith("GET ")),
    ).toEqual(
      [
        ["/a", "/a/:id", "/a/summary"],
        ["/b", "/b/:id", "/b/summary"],
        ["/c", "/c/:id", "/c/summary"],
        ["/d", "/d/:id", "/d/summary"],
        // Without rows, nothing is known about keys.
        ["/e", "/e/summary"],
        ["/customers", "/customers/:number", "/customers/summary"],
        ["/names", "/names/summary"],
        ["/old-customers", "/old-customers/summary"],
      ].flatMap((paths) => paths.map((path) => `GET ${path}`)),
    );
    const responses = await Promise.all(
      [
        "/a?d_min=2024-12-01",
        "/b/x",
        "/c",
        "/d?g=2&limit=1&sort=id&order=desc",
        "/e",
        "/customers/7",
        "/names",
        "/old-customers?n=2",
      ].map((path) => jsonOf(program, path)),
    );
    expect(responses).toEqual([
      { data: [{ id: 1, d: "2024-12-31" }], next: "", total_count: 1 },
      { id: "x", n: { m: [1] } },
      { data: [{ ID: 1, id_1: 2 }], next: "", total_count: 1 },
      { data: [{ id: 4997, g: 2 }], next: "/d?g=2&limit=1&sort=id&order=desc&offset=1", total_count: 1666 },
      { data: [], next: "", total_count: 0 },
      { number: 7, name: "Ann" },
      { data: [{ name: "Ann" }], next: "", total_count: 1 },
      { data: [{ code: "a", n: 2 }], next: "", total_count: 1 },
    ]);
  });

  test.each(["parquet", "csv"])("100 columns with odd names, in %s", async (format) => {
    expect(ODD_NAMES.length).toBeGreaterThanOrEqual(100);
    await using folder = await folderWith({});
    const file = join(folder.path, `odd.${format}`);
    await createDataFiles(`COPY (${oddRows(20)}) TO '${file}'`);
    const made = await runHere({}, { args: ["init", "--from", file], cwd: folder.path });
    expect([made.code, made.stderr]).toEqual([0, ""]);
    expect(await runHere({}, { args: ["check", "--strict"], cwd: folder.path })).toEqual({
      code: 0,
      stdout: "3 endpoints, no problems\n",
      stderr: "",
    });
    await using program = await devOf(folder.path, `odd.${format}`);
    const { data } = (await jsonOf(program, "/odd?limit=1&offset=3")) as { data: readonly Record<string, unknown>[] };
    const [row = {}] = data;
    // A CSV file has no names with blanks around them. JavaScript sorts names that are numbers.
    const sorted = (names: readonly string[]) => names.map((name) => name.trim()).sort();
    expect(sorted(Object.keys(row))).toEqual(sorted(ODD_NAMES));
    const query = new URLSearchParams({ 名前: String(row["名前"]), sort: "名前" });
    expect(await jsonOf(program, `/odd?${query}`)).toMatchObject({ data: [row] });
    expect(((await jsonOf(program, "/odd/summary")) as readonly unknown[]).length).toBe(ODD_NAMES.length);
  });

  test("a large text file is not counted for every page", async () => {
    await using folder = await folderWith({});
    const file = join(folder.path, "large.csv");
    await createDataFiles(`COPY (SELECT i AS id, repeat('x', 100) AS x FROM range(200000) r(i)) TO '${file}'`);
    await using program = await devOf(folder.path, "large.csv");
    expect(await jsonOf(program, "/large?limit=2&offset=100")).toMatchObject([{ id: 100 }, { id: 101 }]);
    expect(await jsonOf(program, "/large")).toHaveLength(100);
    expect(await jsonOf(program, "/large/7")).toMatchObject({ id: 7 });
  });

  testNeeding(missingExtensions("sqlite_scanner", "excel"))("SQLite and Excel", async () => {
    await using folder = await folderWith({});
    await mkdir(join(folder.path, ".duckdb"));
    const extensions = extensionDirectory("sqlite_scanner", "excel");
    await symlink(extensions, join(folder.path, ".duckdb/extensions"));
    await createDataFiles(
      `SET extension_directory = '${extensions}'`,
      "LOAD sqlite_scanner; LOAD excel",
      `ATTACH '${folder.path}/shop.sqlite' AS shop (TYPE sqlite)`,
      "CREATE TABLE shop.customers (id INTEGER PRIMARY KEY, name TEXT)",
      "INSERT INTO shop.customers VALUES (7, 'Ann')",
      `COPY (SELECT 3 AS id, 'x' AS y) TO '${folder.path}/sheet.xlsx' (FORMAT xlsx, HEADER true)`,
    );
    const env = { HOME: folder.path };
    const made = await run({}, { args: ["init", "--from", "shop.sqlite", "sheet.xlsx"], cwd: folder.path, env });
    expect([made.code, made.stderr]).toEqual([0, ""]);
    expect(await run({}, { args: ["check"], cwd: folder.path, env })).toMatchObject({
      code: 0,
      // Numbers in Excel are DOUBLE, which no key is.
      stdout: "5 endpoints, no problems\n",
    });
  });

  test("the real program, without a terminal", async () => {
    await using folder = await folderWith(ZONES);
    const gone = await run({}, { args: ["dev", "gone.csv"], cwd: folder.path });
    expect(gone).toEqual({ code: 1, stdout: "", stderr: "eider: gone.csv: not found\n" });
  });
});

function withoutAddress(document: unknown): unknown {
  const { servers: _, info: _info, "x-eider-events": _events, ...rest } = document as Record<string, unknown>;
  return rest;
}
