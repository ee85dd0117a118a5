import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { fullFormats } from "ajv-formats/dist/formats.js";
import { expect, test } from "vitest";

/** Third-party tools that read an OpenAPI document, and a check of responses against one. */

type Json = Readonly<Record<string, unknown>>;

const root = join(import.meta.dirname, "..");
const require = createRequire(import.meta.url);

/** Writes the document to a temporary file while `work` runs. */
async function withFile<T>(document: object, work: (file: string, folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "eider-openapi-"));
  try {
    const file = join(folder, "openapi.json");
    await writeFile(file, JSON.stringify(document));
    return await work(file, folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Runs a program. Returns its output and exit code. Asynchronous, because a service may run in this process. */
function outputOf(
  program: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: Record<string, string> } = {},
): Promise<{ readonly text: string; readonly code: number }> {
  const env = { ...process.env, ...options.env };
  return new Promise((done) => {
    execFile(program, [...args], { ...options, env, maxBuffer: 1 << 28 }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : 1;
      done({ text: stdout + stderr, code });
    });
  });
}

/** The violations of Redocly's recommended rules. */
export function lint(
  document: object,
): Promise<readonly { readonly rule: string; readonly severity: string; readonly message: string }[]> {
  return withFile(document, async (file, folder) => {
    const cli = join(dirname(require.resolve("@redocly/cli/package.json")), "bin/cli.js");
    // By default, it checks for updates and sends usage data.
    const env = { REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true", NO_COLOR: "1" };
    const args = [cli, "lint", "--extends", "recommended", "--format", "json", file];
    const { text } = await outputOf(process.execPath, args, { cwd: folder, env });
    const start = text.indexOf("{\n");
    const report = JSON.parse(text.slice(start, text.lastIndexOf("\n}") + 2)) as {
      problems: { ruleId: string; severity: string; message: string }[];
    };
    return report.problems.map(({ ruleId, severity, message }) => ({ rule: ruleId, severity, message }));
  });
}

const python = process.env["EIDER_TEST_PYTHON"] ?? "python3";

/** The error of Python's openapi-spec-validator for each document. Empty if it is valid. */
export function validateWithPython(documents: readonly object[]): Promise<readonly string[]> {
  const program = `
import json, sys
from openapi_spec_validator import validate
def said(document):
    try:
        validate(document)
        return ""
    except Exception as error:
        return repr(error)
print(json.dumps([said(document) for document in json.load(open(sys.argv[1]))]))
`;
  return withFile(documents, async (file) => JSON.parse((await outputOf(python, ["-c", program, file])).text));
}

/** openapi-typescript needs a TypeScript before version 7, so it cannot be a dependency. CI sets the path of its program. */
const typesTool = process.env["EIDER_TEST_OPENAPI_TYPESCRIPT"] ?? join(root, "node_modules/.bin/openapi-typescript");

/** `test` if openapi-typescript is installed. Otherwise, the test is skipped, or fails with EIDER_TEST_REQUIRE=all. */
export function testWithTypes(name: string, run: () => Promise<void>): void {
  if (process.env["EIDER_TEST_REQUIRE"] === "all" || existsSync(typesTool)) test(name, run);
  // CI has it.
  else test.skip(`${name} (left out: no openapi-typescript; EIDER_TEST_OPENAPI_TYPESCRIPT names one)`, run);
}

/** Compiles types from the document and a program that uses them with `strict`. Returns the output of the compiler. */
export function compileTypes(document: object, program: string): Promise<string> {
  return withFile(document, async (file, folder) => {
    const made = await outputOf(typesTool, [file, "--output", join(folder, "types.ts")]);
    if (made.code !== 0) return made.text;
    await writeFile(
      join(folder, "program.ts"),
      `import type { components, operations, paths } from "./types.ts";\n${program}`,
    );
    const compiler = join(dirname(require.resolve("typescript/package.json")), "bin/tsc");
    const options = [
      "--noEmit",
      "--strict",
      "--exactOptionalPropertyTypes",
      "--noUncheckedIndexedAccess",
      "--allowImportingTsExtensions",
      "--skipLibCheck",
      "false",
    ];
    return (await outputOf(process.execPath, [compiler, ...options, join(folder, "program.ts")], { cwd: folder })).text;
  });
}

export interface SchemathesisRun {
  readonly url: string;
  /** The content of schemathesis.toml. `hooks` is the content of hooks.py. */
  readonly config: string;
  readonly hooks: string;
  readonly args: readonly string[];
}

/** Sends valid and invalid requests to the service, according to the document. */
export function runSchemathesis(
  document: object,
  { url, config, hooks, args }: SchemathesisRun,
): Promise<{ readonly text: string; readonly code: number }> {
  return withFile(document, async (file, folder) => {
    await writeFile(join(folder, "schemathesis.toml"), config);
    await writeFile(join(folder, "hooks.py"), hooks);
    const program = "from schemathesis.cli import schemathesis\nschemathesis()";
    const all = ["-c", program, "--config-file", "schemathesis.toml", "run", file, "--url", url, ...args];
    return await outputOf(python, all, { cwd: folder, env: { NO_COLOR: "1" } });
  });
}

/** Dates outside the range of RFC 3339, as the schema describes them. */
const FAR_DATE = /^(?:-?infinity|[+-]\d{4,}-\d\d-\d\d)$/;
const FAR_MOMENT = /^(?:-?infinity|[+-]\d{4,}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{6})?Z)$/;

function hasFormat(format: unknown, text: string): boolean {
  const { validate } = format as { validate: (text: string) => boolean };
  return validate(text);
}

/** Checks responses against a document. */
export interface Conformance {
  /** Asserts that the document describes this response of the operation. Returns its body, as JSON or text. */
  check(method: string, path: string, response: Response): Promise<unknown>;
}

export function conformance(document: Json): Conformance {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  for (const [name, format] of Object.entries(fullFormats)) ajv.addFormat(name, format);
  ajv.addFormat("date", (text) => FAR_DATE.test(text) || hasFormat(fullFormats.date, text));
  ajv.addFormat("date-time", (text) => FAR_MOMENT.test(text) || hasFormat(fullFormats["date-time"], text));
  for (const name of ["decimal", "uint64"]) ajv.addFormat(name, true);
  ajv.addSchema(document, "document");
  const resolved = (part: unknown): Json => {
    const { $ref } = part as { $ref?: string };
    if ($ref === undefined) return part as Json;
    return $ref
      .slice(2)
      .split("/")
      .reduce((at, step) => at[step] as Json, document);
  };
  return {
    async check(method, path, response) {
      const label = `${method} ${path} ${response.status}`;
      const operation = (document["paths"] as Record<string, Record<string, Json>>)[path]?.[method.toLowerCase()];
      const described = (operation?.["responses"] as Json | undefined)?.[String(response.status)];
      expect(described, label).toBeDefined();
      const { headers = {}, content } = resolved(described) as { headers?: Json; content?: Record<string, Json> };
      for (const [name, header] of Object.entries(headers)) {
        if (resolved(header)["required"] === true)
          expect([label, name, response.headers.has(name)]).toEqual([label, name, true]);
      }
      const text = await response.text();
      if (content === undefined) return text;
      const [type = ""] = (response.headers.get("content-type") ?? "").split(";");
      expect([label, Object.keys(content)]).toEqual([label, expect.arrayContaining([type])]);
      if (type !== "application/json") return text;
      const body: unknown = JSON.parse(text);
      const validate = ajv.compile({ ...withDocumentReferences(content[type]?.["schema"]) });
      validate(body);
      expect([label, validate.errors?.map(({ instancePath, message }) => `${instancePath} ${message}`)]).toEqual([
        label,
        undefined,
      ]);
      return body;
    },
  };
}

/** A schema whose references lead to the document, wherever it is compiled. */
function withDocumentReferences(schema: unknown): Json {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"document#/')) as Json;
}
