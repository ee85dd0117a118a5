import type { CallObserver } from "../calls/observed-call.ts";
import { defaultMcpSettings } from "../config/mcp-config.ts";
import { hasErrors, type Problem } from "../config/problem.ts";
import type { Project } from "../config/project.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { Report } from "../events.ts";
import { logMessage, RequestFailure } from "../failure.ts";
import { listen } from "../http/listen.ts";
import { openRestApp } from "../rest/rest-app.ts";
import { type OpenOptions, openService, type Service } from "../service/service.ts";
import { openMcpSurface } from "../serving/mcp-surface.ts";
import { CopyError, type KnownContents, openDatabaseCopies } from "../spool/database-copies.ts";
import { statement } from "../sql/statement.ts";
import type { Coverage } from "./coverage.ts";
import { labelsOf } from "./endpoint-labels.ts";
import { type IsolatedProject, isolateProject } from "./isolate-project.ts";
import { openTestUsers, type TestUsers } from "./test-users.ts";

/** A project that is served from copies of its data, over HTTP and MCP. */
export interface TestServer {
  readonly url: string;
  readonly service: Service;
  readonly users: TestUsers;
  /** Whether a call may have changed the copies. */
  isChanged(): boolean;
  markChanged(): void;
  /** Why calls were not run, or failed, only because this is a test. Empties the list. */
  takeRefusals(): readonly string[];
  /** Why a message of the database is due to the tests. Undefined if it is not. */
  explain(message: string): string | undefined;
  /** The status of the last call over MCP, as REST would return it. */
  lastStatus(): number | undefined;
  /** The text with the paths of the data instead of those of the copies. */
  showOriginals(text: string): string;
  close(): Promise<void>;
}

export type OpenedTestServer =
  | { readonly kind: "open"; readonly server: TestServer; readonly problems: readonly Problem[] }
  | { readonly kind: "failed"; readonly problems: readonly Problem[]; readonly unreachable: string | undefined };

/** What the services of one run have in common. */
export interface SharedByRun {
  readonly known: KnownContents;
  /** Why endpoints cannot be called, by file: they write to a database that is read-only in tests. */
  readonly unwritable: Map<string, string>;
  readonly coverage: Coverage;
}

export interface TestServerOptions extends Pick<OpenOptions, "temporary" | "self" | "env">, SharedByRun {
  readonly cwd: string;
  readonly now: () => Date;
}

export async function openTestServer(project: Project, options: TestServerOptions): Promise<OpenedTestServer> {
  const copies = await openDatabaseCopies(options);
  const failed = async (problems: readonly Problem[], unreachable?: string): Promise<OpenedTestServer> => {
    await copies.close();
    return { kind: "failed", problems, unreachable };
  };
  let isolated: IsolatedProject;
  try {
    isolated = await isolateProject(project, { copies, cwd: options.cwd });
  } catch (error) {
    if (error instanceof CopyError) return await failed([], error.message);
    throw error;
  }
  if (hasErrors(isolated.problems)) return await failed(isolated.problems);
  const refusals = openRefusals(isolated, options.unwritable);
  const report: Report = (event) => {
    refusals.onEvent(event);
    options.coverage.onEvent(event);
  };
  const { temporary, self, env } = options;
  const opening: OpenOptions = { report, connect: true, temporary, self, env, purpose: "serve" };
  const opened = await openService(withoutWrites(isolated.project, options.unwritable), opening);
  const problems = opened.problems.map((each) => ({ ...each, message: copies.showOriginals(each.message) }));
  if (opened.service === undefined) {
    const isNew = isolated.protectedConnections.length > 0 && addUnwritable(project, problems, options.unwritable);
    const end = await failed(problems, opened.unreachable);
    return isNew ? await openTestServer(project, options) : end;
  }
  const writable = (await writableFiles(opened.service)).find(({ path }) => copies.showOriginals(path) === path);
  if (writable !== undefined) {
    await opened.service.close();
    return await failed(problems, `the database '${writable.name}' is attached for writing, but is not a copy`);
  }
  const server = await serve(opened.service, { ...options, report, refusals });
  return {
    kind: "open",
    problems,
    server: {
      ...server,
      takeRefusals: refusals.take,
      explain: refusals.explain,
      showOriginals: copies.showOriginals,
      async close() {
        await server.close();
        await copies.close();
      },
    },
  };
}

const WRITES_TO = /^the database "(.+)" is read-only, and this statement changes it$/;

/** Adds the endpoints whose only problem is that a database is read-only in tests. Returns false if there are other errors. */
function addUnwritable({ endpoints }: Project, problems: readonly Problem[], unwritable: Map<string, string>): boolean {
  const errors = problems.filter(({ severity }) => severity === "error");
  const found = errors.map(({ location, message }) => ({
    files: endpoints.filter(({ template }) => template?.file === location.file).map(({ file }) => file),
    database: WRITES_TO.exec(message)?.[1],
  }));
  if (found.some(({ files, database }) => database === undefined || files.length === 0)) return false;
  for (const { files, database } of found) {
    const reason = `it writes to '${database}', which cannot be copied, so tests attach it READ_ONLY`;
    for (const file of files) unwritable.set(file, reason);
  }
  return true;
}

/** The project with an empty query instead of each template that cannot run. */
function withoutWrites(project: Project, unwritable: ReadonlyMap<string, string>): Project {
  return {
    ...project,
    endpoints: project.endpoints.map((endpoint) =>
      unwritable.has(endpoint.file) && endpoint.template !== undefined
        ? { ...endpoint, template: { ...endpoint.template, text: "SELECT 1" } }
        : endpoint,
    ),
  };
}

/** The files that the service could write. A second check, of what the connections have really attached. */
async function writableFiles({
  engine,
}: Service): Promise<readonly { readonly name: string; readonly path: string }[]> {
  const { signal } = new AbortController();
  const sql =
    "SELECT database_name, path FROM duckdb_databases() WHERE NOT internal AND NOT readonly AND path IS NOT NULL";
  const rows = await engine.change({ connections: [], touches: [], signal }, (run) => run(statement(sql)));
  return rows.map(([name, path]) => ({ name: name ?? "", path: path ?? "" }));
}

interface ServeContext extends Pick<TestServerOptions, "now" | "coverage"> {
  readonly report: Report;
  readonly refusals: Refusals;
}

async function serve(
  opened: Service,
  { now, coverage, report, refusals }: ServeContext,
): Promise<Omit<TestServer, "takeRefusals" | "explain" | "showOriginals">> {
  const users = openTestUsers();
  let isChanged = false;
  let lastStatus: number | undefined;
  const changing = new Set(opened.endpoints.filter(mayChange).flatMap(labelsOf));
  const watcher: CallObserver = {
    needsParameters: false,
    onBegin(call) {
      isChanged ||= changing.has(call.endpoint);
      return [];
    },
    onEnd(_, { status }) {
      lastStatus = status;
    },
  };
  const service: Service = {
    ...opened,
    authenticators: users.admittedBy(opened.authenticators),
    prepare(endpoint) {
      refusals.check(endpoint);
      return opened.prepare(endpoint);
    },
  };
  const observers = [watcher, coverage.observe(opened)];
  const app = openRestApp(service, { report, now, observers });
  const { mcp: configured = defaultMcpSettings() } = opened.project.main;
  // A call must return its result, not a task.
  const settings = { ...configured, tasks: undefined };
  const mcp = await openMcpSurface(service, { settings, observers, report, now });
  const listener = await listen({
    host: "127.0.0.1",
    port: 0,
    handle: (request, response) => (mcp.server.handles(request.url) ? mcp : app).handle(request, response),
  });
  return {
    url: listener.url,
    service,
    users,
    isChanged: () => isChanged,
    markChanged() {
      isChanged = true;
    },
    lastStatus: () => lastStatus,
    async close() {
      mcp.server.close();
      await listener.close();
      await opened.close();
    },
  };
}

/** Even a read takes the next value of a sequence. */
function mayChange({ operation, source }: Endpoint): boolean {
  return operation.kind === "write" || /\bnextval\b/i.test(source?.text ?? "");
}

/** Calls that a test cannot run without changing more than copies. */
interface Refusals {
  /** Throws a RequestFailure. */
  check(endpoint: Endpoint): void;
  readonly onEvent: Report;
  /** Why a message of the database is due to the tests. Undefined if it is not. */
  explain(message: string): string | undefined;
  take(): readonly string[];
}

const READ_ONLY = /database "([^"]+)" which is attached in read-only mode|read-only (?:connection|transaction)/i;

function openRefusals(
  { forbidden, protectedConnections }: IsolatedProject,
  unwritable: ReadonlyMap<string, string>,
): Refusals {
  let found: string[] = [];

  function explain(message: string): string | undefined {
    const [matched, database = protectedConnections.join(", ")] = READ_ONLY.exec(message) ?? [];
    if (matched === undefined || protectedConnections.length === 0) return undefined;
    return `'${database}' cannot be copied, so tests attach it READ_ONLY, and this writes to it`;
  }

  return {
    check({ name, file }) {
      const reason = forbidden.get(file) ?? unwritable.get(file);
      if (reason === undefined) return;
      const message = `${name} was not run, because tests must not change the data itself: ${reason}`;
      found.push(message);
      throw new RequestFailure({ kind: "query-failed", message });
    },
    onEvent(event) {
      if (event.kind !== "call-failed" || event.failure.kind !== "query-failed") return;
      const reason = explain(logMessage(event.failure));
      if (reason !== undefined) found.push(reason);
    },
    explain,
    take() {
      const taken = found;
      found = [];
      return taken;
    },
  };
}
