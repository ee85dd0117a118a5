import { isRecord, type JsonRecord, type JsonValue, jsonValueOf } from "./expected-value.ts";
import { openFiles } from "./files.ts";
import { openIncludes } from "./includes.ts";
import { openJournal } from "./journal.ts";
import { parseTree } from "./parse-tree.ts";
import type { KeyPath, Locate, Problem } from "./problem.ts";
import type { EndpointConfig, Project } from "./project.ts";
import { type Reporter, reporterOf } from "./reporter.ts";
import { type TestFileInput, testFileSchema, WHOLE_PATH } from "./schema/test-file.ts";
import { suggestion } from "./suggest.ts";
import { isTestFile } from "./test-file-name.ts";
import { partLocation } from "./tree.ts";
import { openYamlFiles, type YamlFile } from "./yaml-file.ts";

type TestInput = TestFileInput["tests"][number];

/** A file of tests of one endpoint or tool. */
export interface TestFile {
  /** Absolute path. */
  readonly path: string;
  /** The path as shown in messages. */
  readonly file: string;
  readonly text: string;
  readonly surface: "rest" | "mcp";
  readonly endpoint: EndpointConfig;
  readonly tests: readonly EndpointTest[];
  /** The location of a value, or of the nearest one around it. */
  readonly locate: Locate;
}

export interface EndpointTest {
  readonly name: string;
  /** Its path in the file. */
  readonly at: KeyPath;
  readonly setup: string | undefined;
  readonly request: TestRequest;
  readonly expect: Expectation;
}

export interface TestRequest extends Pick<TestInput["request"], "path" | "query" | "headers" | "user"> {
  readonly body: JsonValue | undefined;
}

/** What a response must have. Undefined parts are not checked. */
export interface Expectation {
  readonly status: number | undefined;
  readonly rowCount: number | undefined;
  readonly rows: JsonValue | undefined;
  readonly totalCount: number | undefined;
  readonly columns: readonly string[] | undefined;
  readonly everyRow: JsonRecord | undefined;
  readonly firstRow: JsonRecord | undefined;
  readonly body: JsonValue | undefined;
  readonly errors: Readonly<Record<string, string>> | undefined;
  readonly snapshot: boolean;
}

export interface LoadedTests {
  readonly files: readonly TestFile[];
  readonly problems: readonly Problem[];
}

/** Reads the tests of a project: files whose names end with `.test.yaml`, beside the endpoints. */
export function loadTests(project: Project, cwd: string): LoadedTests {
  const { main, environment: values, environmentAllows: allows } = project;
  const problems: Problem[] = [];
  const journal = openJournal(openFiles(cwd), (problem) => problems.push(problem));
  const { files, report } = journal;
  const lookUp = (name: string) => {
    const value = values.get(name);
    return value === undefined
      ? { ok: false as const, message: `Environment variable ${name} not found` }
      : { ok: true as const, value };
  };
  const yaml = openYamlFiles(files, report);
  const read = openIncludes({ ...journal, yaml, environment: { allows, values, lookUp }, roots: [main.folder] });
  const listing = files.list(main.templatePath, isTestFile);
  const found: TestFile[] = [];
  for (const path of listing?.ok === true ? listing.files : []) {
    const opened = yaml.open(path);
    if (opened.kind !== "parsed") continue;
    const tree = read(opened.file);
    const { value, broken } = parseTree(tree, testFileSchema, report);
    const reporter = reporterOf(tree.positions, report);
    const locate: Locate = (at) => partLocation(tree.positions, at);
    const file = value && compileFile(value, { project, file: opened.file, broken, reporter, locate });
    if (file !== undefined) found.push(file);
  }
  return { files: found, problems };
}

interface TestFileContext {
  readonly project: Project;
  readonly file: YamlFile;
  /** Keys with a problem, which is already reported. */
  readonly broken: ReadonlySet<string>;
  readonly reporter: Reporter;
  readonly locate: Locate;
}

function compileFile(input: TestFileInput, context: TestFileContext): TestFile | undefined {
  const { project, file, broken, reporter, locate } = context;
  const isNamed = [input.endpoint, input.tool].some((name) => name !== undefined);
  if (!isNamed && !broken.has("endpoint") && !broken.has("tool"))
    reporter.error([], "name the 'endpoint' or the 'tool' under test");
  const endpoint = targetOf(input, project, reporter);
  if (endpoint === undefined) return undefined;
  const surface = input.tool === undefined ? "rest" : "mcp";
  const hasAuth = endpoint.auth !== undefined || (surface === "mcp" && project.main.mcp?.auth !== undefined);
  const names = new Set<string>();
  const all = input.tests.map((test, index) => withPathValues(test, endpoint, ["tests", index], reporter));
  for (const [index, test] of all.entries()) {
    const at = ["tests", index];
    if (names.has(test.name)) reporter.error([...at, "name"], `'${test.name}' is there twice; give each its own name`);
    names.add(test.name);
    checkRequest(test, { at, endpoint, surface, hasAuth, reporter });
    checkExpectation(test, at, reporter);
  }
  const tests = all.map((test, index) => testOf(test, ["tests", index]));
  if (tests.length === 0) reporter.error(["tests"], "no tests; write at least one");
  return { path: file.path, file: file.source.file, text: file.source.text, surface, endpoint, tests, locate };
}

function targetOf(
  { endpoint: named, tool }: TestFileInput,
  { endpoints }: Project,
  { error, keyError }: Reporter,
): EndpointConfig | undefined {
  if (named !== undefined && tool !== undefined) {
    keyError(["tool"], "'endpoint' is there too; keep one of them");
    return undefined;
  }
  if (tool !== undefined) {
    const tools = endpoints.flatMap((each) => (each.mcp?.kind === "tool" ? [[each.mcp.name, each] as const] : []));
    const found = tools.find(([name]) => name === tool)?.[1];
    const near = suggestion(
      tool,
      tools.map(([name]) => name),
    );
    if (found === undefined)
      error(["tool"], `there is no tool '${tool}'${near === undefined ? "" : `; did you mean '${near}'?`}`);
    return found;
  }
  if (named === undefined) return undefined;
  const found = endpointsNamed(named, endpoints);
  if (found.length === 1) return found[0];
  const routes = endpoints.flatMap(({ rest }) => rest ?? []);
  const near = suggestion(
    named,
    routes.flatMap(({ method, urlPath }) => [urlPath, `${method} ${urlPath}`]),
  );
  const methods = found
    .flatMap(({ rest }) => (rest === undefined ? [] : `'${rest.method} ${rest.urlPath}'`))
    .join(" or ");
  if (found.length > 1) error(["endpoint"], `several methods share this path; write ${methods}`);
  else error(["endpoint"], `there is no endpoint '${named}'${near === undefined ? "" : `; did you mean '${near}'?`}`);
  return undefined;
}

/** The endpoints with this path, as in YAML (`/customers/:id`) or OpenAPI (`/customers/{id}`), perhaps after a method. */
function endpointsNamed(name: string, endpoints: readonly EndpointConfig[]): readonly EndpointConfig[] {
  const [, method, path = name] = /^([A-Za-z]+) +(\/.*)$/.exec(name) ?? [];
  const shape = shapeOf(path);
  return endpoints.filter(
    ({ rest }) =>
      rest !== undefined &&
      shapeOf(rest.urlPath) === shape &&
      (method === undefined || method.toUpperCase() === rest.method),
  );
}

function shapeOf(path: string): string {
  return path.replace(/(?<=.)\/$/, "").replaceAll(/:[^/]+|\{[^/]+\}/g, ":");
}

/** Replaces a whole path by the values of its placeholders. */
function withPathValues(test: TestInput, { rest }: EndpointConfig, at: KeyPath, { error }: Reporter): TestInput {
  const { [WHOLE_PATH]: whole, ...values } = test.request.path;
  if (whole === undefined || rest === undefined) return test;
  const parts = whole.replace(/(?<=.)\/$/, "").split("/");
  const segments = rest.urlPath.split("/");
  const isSame = (segment: string, index: number): boolean =>
    segment.startsWith(":") ? (parts[index] ?? "") !== "" : segment === parts[index];
  if (parts.length !== segments.length || !segments.every(isSame)) {
    error([...at, "request", "path"], `'${whole}' is not a path of ${rest.method} ${rest.urlPath}`);
    // Only this problem is reported.
    const filler = segments.flatMap((segment) => (segment.startsWith(":") ? [[segment.slice(1), segment]] : []));
    return { ...test, request: { ...test.request, path: Object.fromEntries(filler) } };
  }
  const found = segments.flatMap((segment, index) =>
    segment.startsWith(":") ? [[segment.slice(1), decoded(parts[index] ?? "")]] : [],
  );
  return { ...test, request: { ...test.request, path: { ...values, ...Object.fromEntries(found) } } };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

interface RequestContext {
  readonly at: KeyPath;
  readonly endpoint: EndpointConfig;
  readonly surface: TestFile["surface"];
  readonly hasAuth: boolean;
  readonly reporter: Reporter;
}

function checkRequest({ request }: TestInput, { at, endpoint, surface, hasAuth, reporter }: RequestContext): void {
  const inRequest = (...path: KeyPath): KeyPath => [...at, "request", ...path];
  const { error, keyError } = reporter;
  if (request.user !== undefined && !hasAuth) {
    keyError(inRequest("user"), "the endpoint has no auth block, so an identity has no effect; remove it");
  }
  if (request.user !== undefined && Object.keys(request.headers).some((name) => /^authorization$/i.test(name))) {
    keyError(inRequest("user"), "the header Authorization is there too; keep one of them");
  }
  if (surface === "mcp") {
    for (const key of ["path", "query"] as const) {
      if (Object.keys(request[key]).length > 0)
        keyError(inRequest(key), "a tool has arguments; write them under 'body'");
    }
    if (request.body !== undefined && !isRecord(jsonValueOf(request.body)))
      error(inRequest("body"), "expected a mapping: the arguments of the tool");
    return;
  }
  const { method = "GET", urlPath = "" } = endpoint.rest ?? {};
  if (request.body !== undefined && method === "GET")
    keyError(inRequest("body"), "a GET request has no body; remove it");
  const placeholders = [...urlPath.matchAll(/:([^/]+)/g)].map(([, name = ""]) => name);
  for (const name of Object.keys(request.path)) {
    if (!placeholders.includes(name)) keyError(inRequest("path", name), `'${name}' is not in the path ${urlPath}`);
  }
  for (const name of placeholders.filter((each) => (request.path[each] ?? "") === ""))
    error(inRequest("path"), `the path ${urlPath} needs a value for '${name}'; write it here`);
}

function checkExpectation({ expect }: TestInput, at: KeyPath, { error, keyError }: Reporter): void {
  const isEmpty = Object.entries(expect).every(([key, value]) =>
    key === "snapshot" ? value === false : value === undefined,
  );
  if (isEmpty) keyError([...at, "expect"], "nothing is expected; write at least a status");
  const rows = expect.rows === undefined ? undefined : jsonValueOf(expect.rows);
  const isCount = typeof rows === "number" && Number.isInteger(rows) && rows >= 0;
  const isList = Array.isArray(rows) && rows.every(isRecord);
  if (rows !== undefined && !isCount && !isList)
    error([...at, "expect", "rows"], "expected a number of rows, or a list of mappings");
}

function testOf({ name, setup, request, expect }: TestInput, at: KeyPath): EndpointTest {
  const value = (data: unknown): JsonValue | undefined => (data === undefined ? undefined : jsonValueOf(data));
  const record = (data: unknown): JsonRecord | undefined => {
    const found = value(data);
    return isRecord(found) ? found : undefined;
  };
  const rows = value(expect.rows);
  return {
    name,
    at,
    setup,
    request: { ...request, body: value(request.body) },
    expect: {
      status: expect.status,
      rowCount: typeof rows === "number" ? rows : undefined,
      rows: typeof rows === "number" ? undefined : rows,
      totalCount: expect["total-count"],
      columns: expect.columns,
      everyRow: record(expect["every-row"]),
      firstRow: record(expect["first-row"]),
      body: value(expect.body),
      errors: expect.errors,
      snapshot: expect.snapshot,
    },
  };
}
