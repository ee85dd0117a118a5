import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { CURSOR_TYPES, otherNamesOf } from "../src/cache/cursor.ts";
import { refreshColumns } from "../src/cache/store-layout.ts";
import { exitCodes } from "../src/cli/command.ts";
import { commands } from "../src/cli/index.ts";
import { endpointRules, mainRules } from "../src/config/flapi-keys.ts";
import { loadProject } from "../src/config/load-project.ts";
import { formatProblem } from "../src/config/problem.ts";
import { connection, ownKeys } from "../src/config/schema/connections.ts";
import { endpointSchema } from "../src/config/schema/endpoint.ts";
import { mainSchema } from "../src/config/schema/main.ts";
import { testFileSchema } from "../src/config/schema/test-file.ts";
import { connectionTypes } from "../src/engines/duckdb/connections/index.ts";
import { duckdbDialect } from "../src/engines/duckdb/dialect.ts";
import type { Failure } from "../src/failure.ts";
import { failureResponse } from "../src/failure-response.ts";
import { formats } from "../src/formats/index.ts";
import type { ParamValue } from "../src/params/parameter.ts";
import { validators } from "../src/params/validators/index.ts";
import { compileTemplate } from "../src/sql/compile-template.ts";
import { render } from "../src/sql/render.ts";
import type { TemplateScope } from "../src/sql/scope.ts";
import { anchorOf, blocksOf, codesOf, headingsOf, linksOf, tablesOf } from "./markdown.ts";
import { endpoint, problemsFrom, serviceFrom, writeFiles } from "./service.ts";

/** The documentation and the code agree, both ways: nothing is missing, and nothing is there that is gone. */
const root = join(import.meta.dirname, "..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");
const filesBelow = (folder: string, ending: RegExp): readonly string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => ending.test(name))
    .map((name) => join(folder, name));

const pages = [...["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"], ...filesBelow("docs", /\.md$/)];

/** The rows of every table of a page whose first column has this title. */
const rowsOf = (page: string, title: string): readonly (readonly string[])[] =>
  tablesOf(read(page))
    .filter(({ header }) => header[0] === title)
    .flatMap(({ rows }) => rows);
const firstCodes = (page: string, title: string): readonly string[] =>
  rowsOf(page, title).map(([cell = ""]) => codesOf(cell)[0] ?? cell);
const sorted = (texts: Iterable<string>): readonly string[] => [...texts].sort();

describe("keys", () => {
  interface Schema {
    readonly _zod: { readonly def: Definition };
  }
  interface Definition {
    readonly type: string;
    readonly innerType?: Schema;
    readonly in?: Schema;
    readonly out?: Schema;
    readonly element?: Schema;
    readonly valueType?: Schema;
    readonly defaultValue?: unknown;
    readonly shape?: Readonly<Record<string, Schema>>;
  }
  interface Key {
    readonly path: string;
    readonly required: boolean;
    /** As it would be written; undefined where the schema has none. */
    readonly default: unknown;
  }

  function keysOf(schema: Schema | undefined, path: string): readonly Key[] {
    if (schema === undefined) return [];
    // A connection is read by code, which passes its own keys on.
    if (schema === connection) return keysOf(ownKeys as unknown as Schema, path);
    const { type, innerType, in: input, out: output, element, valueType, shape } = schema._zod.def;
    switch (type) {
      case "object":
        return Object.entries(shape ?? {}).flatMap(([name, value]) => {
          const own = path === "" ? name : `${path}.${name}`;
          const { type, defaultValue } = value._zod.def;
          const key = { path: own, required: !["optional", "prefault"].includes(type), default: defaultValue };
          return [key, ...keysOf(value, own)];
        });
      case "array":
        return keysOf(element, `${path}[]`);
      case "record":
        return [
          { path: `${path}.<name>`, required: false, default: undefined },
          ...keysOf(valueType, `${path}.<name>`),
        ];
      case "pipe":
        // A transform says nothing of the form that is written; the other side does.
        return keysOf(output?._zod.def.type === "transform" ? input : output, path);
      default:
        return keysOf(innerType, path);
    }
  }

  const main = keysOf(mainSchema as unknown as Schema, "");
  const inEndpoint = keysOf(endpointSchema as unknown as Schema, "");
  const below = (keys: readonly Key[], prefix: string): readonly string[] =>
    keys.filter(({ path }) => path.startsWith(prefix)).map(({ path }) => path.slice(prefix.length));

  test("the walk finds them", () => {
    expect(main.length).toBeGreaterThan(150);
    expect(inEndpoint.length).toBeGreaterThan(90);
    expect(main.map(({ path }) => path)).toEqual(
      expect.arrayContaining(["auth.users[].roles", "connections.<name>.init"]),
    );
  });

  test("blocks that are documented once are the same everywhere", () => {
    expect(below(inEndpoint, "auth.")).toEqual(below(main, "auth."));
    expect(below(inEndpoint, "rate-limit.")).toEqual(below(main, "rate-limit."));
    expect(below(main, "mcp.auth.").filter((key) => !key.startsWith("methods"))).toEqual(below(main, "auth."));
  });

  test.each([
    ["docs/configuration.md", main.filter(({ path }) => !/^mcp\.auth\.(?!methods)/.test(path))],
    ["docs/testing.md", keysOf(testFileSchema as unknown as Schema, "")],
    ["docs/endpoints.md", inEndpoint.filter(({ path }) => !/^(auth|rate-limit)\./.test(path))],
  ])("%s has every key, and no other", (page, keys) => {
    expect(sorted(firstCodes(page, "Key"))).toEqual(sorted(keys.map(({ path }) => path)));
    const defaults = new Map(rowsOf(page, "Key").map(([key = "", , value]) => [codesOf(key)[0], value]));
    for (const { path, required } of keys) if (required) expect([path, defaults.get(path)]).toEqual([path, "required"]);
    // A default is in the schema and in its cell, or in neither. Words say what no single value can.
    for (const key of keys) {
      const cell = defaults.get(key.path) ?? "";
      const written = typeof key.default === "object" || key.default === "" ? undefined : key.default;
      const shown = /^`[^`]*`$/.test(cell) ? cell : undefined;
      expect([key.path, shown]).toEqual([key.path, written === undefined ? undefined : `\`${written}\``]);
    }
  });

  /** Top-level keys of the main file that are blocks, each with nothing in it. */
  const emptyBlocks = main.filter(({ path }) => !path.includes(".") && below(main, `${path}.`).length > 0);

  test("every block of the main file is accepted", async () => {
    // Blocks that say nothing unless they say this.
    const least: Readonly<Record<string, string>> = {
      auth: "{ type: bearer, token: x }",
      cors: "{ allow-origins: ['*'] }",
    };
    const yaml = emptyBlocks.map(({ path }) => `${path}: ${least[path] ?? "{}"}\n`).join("");
    const problems = await problemsFrom({ "eider.yaml": yaml });
    expect(problems.filter((problem) => !problem.includes(": warning: "))).toEqual([]);
  });

  test("every connection type with its options", () => {
    const table = tablesOf(read("docs/configuration.md")).find(({ section }) => section === "Connection types");
    expect(table?.rows.map(([type = "", options = ""]) => [codesOf(type)[0], sorted(codesOf(options))])).toEqual(
      connectionTypes.map(({ type, options }) => [type, sorted(options)]),
    );
  });

  test("every key of the flAPI dialect", () => {
    const page = "docs/coming-from-flapi.md";
    const rules = [...mainRules, ...endpointRules];
    const at = (kind: string): readonly string[] =>
      sorted(new Set(rules.filter((rule) => rule.kind === kind).map((rule) => rule.at)));
    const table = (title: string): readonly (readonly string[])[] =>
      tablesOf(read(page)).find(({ section }) => section === title)?.rows ?? [];
    const written = (title: string): readonly string[] =>
      sorted(table(title).map(([cell = ""]) => codesOf(cell)[0] ?? ""));
    expect(written("Renamed keys")).toEqual(at("renamed"));
    expect(written("Ignored keys")).toEqual(at("ignored"));
    expect(written("Common mistakes")).toEqual(at("mistake"));
    for (const [from = "", to = ""] of table("Renamed keys")) {
      const rule = rules.find(({ at }) => at === codesOf(from)[0]);
      expect([from, rule?.kind === "renamed" && rule.to]).toEqual([from, codesOf(to)[0]]);
    }
  });
});

describe("parameters", () => {
  test("every validator type with its options", () => {
    const rows = rowsOf("docs/endpoints.md", "Type").map(([type = "", options = ""]) => [
      codesOf(type)[0],
      sorted(codesOf(options)),
    ]);
    expect(rows).toEqual(
      validators.map(({ in: { shape } }) => {
        const { type, preventSqlInjection: _, ...options } = shape;
        return [type.value, sorted(Object.keys(options))];
      }),
    );
  });

  /** Texts of a folder that look like a message to a client. */
  const messagesIn = (folder: string): readonly string[] =>
    sorted(
      new Set(
        filesBelow(folder, /(?<!\.test)\.ts$/)
          .flatMap((file) => [...read(file).matchAll(/"([A-Z][a-zA-Z-]+ [^"]{4,})"/g)])
          .map(([, message = ""]) => message),
      ),
    );

  test("every message", () => {
    expect(sorted(firstCodes("docs/endpoints.md", "Message"))).toEqual(messagesIn("src/params"));
    const forBodies = firstCodes("docs/http.md", "Message for `body`");
    const ofTable = (["body-too-large", "unsupported-body-type", "key-refused"] as const).flatMap((kind) => {
      const { body } = failureResponse({ kind });
      return "errors" in body ? body.errors.map(({ message }) => message) : [];
    });
    expect(ofTable).toHaveLength(3);
    const others = [...messagesIn("src/rest"), ...ofTable];
    for (const message of others)
      expect(read("docs/http.md") + read("docs/endpoints.md") + read("docs/security.md")).toContain(`\`${message}\``);
    for (const message of forBodies) expect(others).toContain(message);
  });
});

describe("HTTP", () => {
  const examples: { readonly [Kind in Failure["kind"]]: Extract<Failure, { kind: Kind }> } = {
    "invalid-params": { kind: "invalid-params", errors: [{ field: "id", message: "Invalid integer value" }] },
    unauthorized: { kind: "unauthorized", scheme: "basic" },
    "https-required": { kind: "https-required", location: undefined },
    "not-found": { kind: "not-found" },
    "no-row": { kind: "no-row" },
    "nothing-changed": { kind: "nothing-changed" },
    "method-not-allowed": { kind: "method-not-allowed", allow: ["GET"] },
    "not-acceptable": { kind: "not-acceptable", offered: formats.map(({ mediaTypes }) => mediaTypes[0]) },
    "body-too-large": { kind: "body-too-large" },
    "unsupported-body-type": { kind: "unsupported-body-type" },
    "refused-by-template": { kind: "refused-by-template", status: 403, message: "not yours" },
    cancelled: { kind: "cancelled" },
    conflict: { kind: "conflict" },
    "constraint-failed": { kind: "constraint-failed", constraint: "unique", message: "Constraint Error: ..." },
    "key-refused": { kind: "key-refused" },
    "key-reused": { kind: "key-reused" },
    "too-many-requests": { kind: "too-many-requests", retryAfterSeconds: 7 },
    "query-failed": { kind: "query-failed", message: "Conversion Error: ..." },
    "several-rows": { kind: "several-rows" },
    internal: { kind: "internal" },
    "connection-down": { kind: "connection-down", connection: "crm" },
    "connection-opening": { kind: "connection-opening", connection: "crm", ms: 12_345 },
    "database-in-use": { kind: "database-in-use" },
    "provider-down": { kind: "provider-down" },
    overloaded: { kind: "overloaded" },
    draining: { kind: "draining" },
    "query-timeout": { kind: "query-timeout", limitMs: 1 },
  };

  test("every failure with its status and body", () => {
    const rows = rowsOf("docs/http.md", "Name").map(([name = "", status, body = "", when = ""]) => [
      codesOf(name)[0],
      status,
      codesOf(body)[0],
      when.includes("Retry-After"),
    ]);
    expect(rows).toEqual(
      Object.values(examples).map((failure) => {
        const { status, body, headers } = failureResponse(failure);
        return [failure.kind, String(status), JSON.stringify(body), "Retry-After" in headers];
      }),
    );
  });

  test("every format", () => {
    const rows = rowsOf("docs/http.md", "Format").map((cells) => cells.map(codesOf));
    expect(rows).toEqual(formats.map(({ name, contentType, mediaTypes }) => [[name], [contentType], mediaTypes]));
  });

  test("every type is written as the table says", async () => {
    const rows = rowsOf("docs/http.md", "Type").map(([, sql = "", json = ""]) => [codesOf(sql)[0], codesOf(json)[0]]);
    expect(rows.length).toBeGreaterThan(20);
    const files = rows.map(([sql], index) => ({
      [`${index}.yaml`]: `url-path: /${index}\ntemplate-source: ${index}.sql\nconnection: memory\nwith-pagination: false\n`,
      [`${index}.sql`]: `SELECT ${sql} AS v`,
    }));
    await using service = await serviceFrom(Object.assign({}, ...files));
    const answers = await Promise.all(rows.map(async (_, index) => (await service.get(`/${index}`)).text()));
    expect(answers).toEqual(rows.map(([, json]) => `[{"v":${json}}]`));
  });
});

describe("templates", () => {
  const scope: TemplateScope = {
    types: new Map([
      ["id", "BIGINT"],
      ["day", "DATE"],
      ["absent", "BIGINT"],
    ]),
    params: new Map([
      ["id", "scalar"],
      ["absent", "scalar"],
      ["day", "typed"],
      ["name", "text"],
      ["sort", "enum"],
    ]),
    conn: new Map([["path", "data/orders.csv"]]),
    connectionName: "shop",
    cache: new Map(),
    environment: (name) => (name === "REGION" ? { value: "north" } : "unlisted"),
  };
  const values: Readonly<Record<string, ParamValue>> = {
    id: { text: "42", type: "BIGINT", value: 42n },
    day: { text: "2024-02-29", type: "DATE", value: "2024-02-29" },
    name: { text: "O'Brien", type: "VARCHAR", value: "O'Brien" },
    sort: { text: "created_at", type: "VARCHAR", value: "created_at" },
  };
  const page = "docs/sql-templates.md";
  const tables = tablesOf(read(page));

  test("what runs is what the table says", () => {
    const table = tables.find(({ header }) => header[1] === "What runs");
    expect(table?.rows.length).toBeGreaterThan(10);
    for (const [template = "", runs = "", bound = ""] of table?.rows ?? []) {
      const text = codesOf(template)[0] ?? "";
      const compiled = compileTemplate(text, scope, duckdbDialect);
      expect([text, compiled.problems]).toEqual([text, []]);
      const statements = render(compiled.template, ({ name }) => values[name], { dialect: duckdbDialect });
      expect(statements.map(({ sql }) => sql)).toEqual(codesOf(runs));
      expect(statements.flatMap((statement) => statement.values.map(({ value }) => String(value)))).toEqual(
        codesOf(bound),
      );
    }
  });

  const [refused, refusedByDatabase] = tables.filter(({ header }) => header[1] === "Problem");

  test("what is refused is refused, in these words", () => {
    for (const [template = "", problem = ""] of refused?.rows ?? []) {
      const { problems } = compileTemplate(codesOf(template)[0] ?? "", scope, duckdbDialect);
      expect(problems.map(({ message }) => message)).toContain(codesOf(problem)[0]);
    }
  });

  test.each(refusedByDatabase?.rows ?? [])("the database refuses %s", async (template = "", problem = "") => {
    const request = "request: [{ field-name: name, field-in: query }]\n";
    const problems = await problemsFrom(endpoint(codesOf(template)[0] ?? "", request));
    expect(problems).toEqual([expect.stringContaining(codesOf(problem)[0] ?? "")]);
  });
});

describe("caches", () => {
  test("every column of cache.audit.refreshes", () => {
    const documented = rowsOf("docs/caching.md", "Column").map(([name = "", type = ""]) =>
      [...codesOf(name), ...codesOf(type)].join(" "),
    );
    expect(documented).toEqual(refreshColumns);
  });

  test("every type of a cursor", () => {
    const documented = rowsOf("docs/caching.md", "Type").map(([type = "", others = ""]) => [
      codesOf(type),
      codesOf(others),
    ]);
    expect(documented).toEqual(CURSOR_TYPES.map((type) => [[type], otherNamesOf(type)]));
  });
});

describe("the command line", () => {
  const page = "docs/command-line.md";

  test("every command", () => {
    const documented = headingsOf(read(page)).filter((title) => title.startsWith("eider "));
    expect(documented).toEqual(commands.map(({ name }) => `eider ${name}`));
  });

  test("every option", () => {
    const inHelp = commands.flatMap(({ help }) => [...help.matchAll(/^ +(?:(-\w), )?(--[\w-]+)/gm)]);
    const options = new Set(
      inHelp.flatMap(([, short, long]) => [short, long]).filter((option) => option !== undefined),
    );
    const documented = rowsOf(page, "Option").flatMap(([cell = ""]) => codesOf(cell));
    expect(sorted(documented)).toEqual(sorted(options));
  });

  test("every exit code", () => {
    expect(rowsOf(page, "Code").map(([code]) => Number(code))).toEqual(Object.values(exitCodes));
  });
});

describe("pages", () => {
  test.each(pages)("every link of %s leads somewhere", (page) => {
    const broken = linksOf(read(page)).filter((link) => {
      if (/^https?:/.test(link)) return false;
      const [path = "", anchor] = link.split("#");
      const target = path === "" ? page : join(dirname(page), path);
      if (!existsSync(join(root, target))) return true;
      return anchor !== undefined && !headingsOf(read(target)).map(anchorOf).includes(anchor);
    });
    expect(broken).toEqual([]);
  });

  test("every page of docs/ is linked from its first page", () => {
    const linked = linksOf(read("docs/README.md")).map((link) => join("docs", link.split("#")[0] ?? ""));
    const own = pages.filter((page) => /^docs\/(?!README)[^/]+$/.test(page));
    expect(own.filter((page) => !linked.includes(page))).toEqual([]);
  });

  test("every decision has a number of its own, which is in its title", () => {
    const decisions = readdirSync(join(root, "docs/decisions"));
    expect(new Set(decisions.map((file) => file.slice(0, 4))).size).toBe(decisions.length);
    expect(decisions.filter((file) => !read(`docs/decisions/${file}`).startsWith(`# ${file.slice(0, 4)}: `))).toEqual(
      [],
    );
  });

  const examples = pages.flatMap((page) =>
    blocksOf(read(page))
      .filter(({ language }) => language === "yaml")
      .map(({ text }, index) => [`${page} ${index + 1}`, text] as const),
  );
  const shared = examples.find(([, text]) => text.startsWith("# endpoints/shared.yaml"))?.[1] ?? "";

  test.each(examples)("the YAML of %s loads", async (_, text) => {
    const head = "url-path: /x\ntemplate-source: x.sql\nconnection: shop\n";
    const isMain = /^(project-name|template|connections|duckdb|limits):/.test(text);
    const file = text.startsWith("request:") ? head + text : text;
    const folder = await writeFiles({
      "eider.yaml": isMain
        ? text.replace(/^connections:/, "environment-whitelist: SHOP_.*\nconnections:")
        : "template: { path: endpoints }\nconnections: { shop: , warehouse: }\nmcp: {}\n",
      "endpoints/shared.yaml": shared,
      ...(isMain ? {} : { "endpoints/x.yaml": file }),
      ...Object.fromEntries(["x", "orders", "sales"].map((name) => [`endpoints/${name}.sql`, "SELECT 1"])),
    });
    try {
      const shop = ["HOST", "PORT", "DATABASE", "USER", "KEY", "SECRET", "CONNECTION"].map((name) => [
        `SHOP_${name}`,
        "x",
      ]);
      const env = {
        ...Object.fromEntries(shop),
        SHOP_PASSWORD: "secret",
        SHOP_DATA: "data",
        S3_KEY: "key",
        S3_SECRET: "secret",
      };
      const { problems } = await loadProject({ cwd: folder, env, overrides: {}, isOffline: true });
      const found = problems.filter(({ message }) => !message.includes("is remote and was not read"));
      expect(found.map(formatProblem)).toEqual([]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("no page says that a key is not active, or refused", () => {
    for (const page of pages) expect(read(page)).not.toMatch(/\*refused\*/i);
  });

  test("no page names a place on somebody's machine", () => {
    for (const page of pages) expect(read(page)).not.toMatch(/\/(work|home|root|Users)\//);
  });
});
