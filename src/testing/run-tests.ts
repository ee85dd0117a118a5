import type { KeyPath, Location, Problem } from "../config/problem.ts";
import type { Project } from "../config/project.ts";
import type { EndpointTest, TestFile } from "../config/test-files.ts";
import { errorAt } from "../config/tree.ts";
import { errorMessage } from "../error-message.ts";
import { type Failure, RequestFailure } from "../failure.ts";
import { errorText, failureResponse } from "../failure-response.ts";
import { statement } from "../sql/statement.ts";
import { checkResponse } from "./check-response.ts";
import { type Coverage, openCoverage } from "./coverage.ts";
import type { Difference } from "./differences.ts";
import { setupProblem, setupStatements } from "./init-statements.ts";
import { sendRequest } from "./send-request.ts";
import { openSnapshots, type SnapshotMode, type Snapshots } from "./snapshots.ts";
import { openTestServer, type SharedByRun, type TestServer, type TestServerOptions } from "./test-server.ts";

/** One thing that is not as a test expects. */
export interface TestFailure {
  readonly location: Location;
  /** The key of the expectation, such as `expect.rows`. */
  readonly key: string;
  readonly message: string;
  /** Undefined if nothing was compared. */
  readonly difference: Pick<Difference, "expected" | "received"> | undefined;
}

export interface TestResult {
  readonly file: string;
  readonly name: string;
  readonly location: Location;
  readonly durationMs: number;
  /** Empty if the test passed. */
  readonly failures: readonly TestFailure[];
}

export interface FileResult {
  readonly file: TestFile;
  readonly results: readonly TestResult[];
  /** Stored responses that were written. */
  readonly snapshotsWritten: number;
}

export interface TestRunOptions extends Omit<TestServerOptions, keyof SharedByRun> {
  readonly snapshots: SnapshotMode;
  /** Whether to run a test of these files. */
  readonly isSelected: (file: TestFile, test: EndpointTest) => boolean;
  readonly onProblems: (problems: readonly Problem[]) => void;
  readonly onFile: (result: FileResult) => void;
  /** Aborted to end the run after the current test. */
  readonly signal: AbortSignal;
}

export type TestRun =
  | { readonly kind: "ran"; readonly files: readonly FileResult[]; readonly coverage: Coverage }
  /** The project could not be opened. Its problems have been reported. */
  | { readonly kind: "failed"; readonly unreachable: string | undefined };

/** Runs tests one after the other, each with the data as it is now. A service is shared until a call may have changed its data. */
export async function runTests(
  project: Project,
  files: readonly TestFile[],
  options: TestRunOptions,
): Promise<TestRun> {
  const coverage = openCoverage();
  const shared: SharedByRun = { known: new Map(), unwritable: new Map(), coverage };
  const done: FileResult[] = [];
  let server: TestServer | undefined;

  /** Undefined if it cannot be opened. */
  async function freshServer(): Promise<TestServer | { readonly unreachable: string | undefined }> {
    if (server?.isChanged() === false) return server;
    const isFirst = server === undefined;
    await server?.close();
    server = undefined;
    const opened = await openTestServer(project, { ...options, ...shared });
    if (isFirst || opened.kind === "failed") options.onProblems(opened.problems);
    if (opened.kind === "failed") return opened;
    server = opened.server;
    return server;
  }

  try {
    for (const file of files) {
      const selected = file.tests.filter((test) => options.isSelected(file, test));
      if (selected.length === 0) continue;
      const results: TestResult[] = [];
      const snapshots = openSnapshots(file.path, options.snapshots);
      for (const test of selected) {
        if (options.signal.aborted) break;
        const fresh = await freshServer();
        if ("unreachable" in fresh) return { kind: "failed", unreachable: fresh.unreachable };
        results.push(await runTest(test, { file, server: fresh, snapshots }));
      }
      const stored = file.tests.filter(({ expect }) => expect.snapshot);
      const snapshotsWritten = await snapshots.save(stored.map(({ name }) => name));
      const result = { file, results, snapshotsWritten };
      done.push(result);
      options.onFile(result);
    }
    return { kind: "ran", files: done, coverage };
  } finally {
    await server?.close();
  }
}

/** The problems of every `setup`. */
export function setupProblems(files: readonly TestFile[]): readonly Problem[] {
  return files.flatMap(({ tests, endpoint, locate }) =>
    tests.flatMap(({ setup, at }) => {
      if (setup === undefined) return [];
      const remote = endpoint.connections.find((connection) => connection.engine !== undefined);
      const message =
        remote === undefined ? setupProblem(setup) : `'${remote.name}' is a server, which cannot be copied; remove it`;
      return message === undefined ? [] : [errorAt(locate([...at, "setup"]), [...at, "setup"], message)];
    }),
  );
}

interface TestContext {
  readonly file: TestFile;
  readonly server: TestServer;
  readonly snapshots: Snapshots;
}

async function runTest(test: EndpointTest, { file, server, snapshots }: TestContext): Promise<TestResult> {
  const startedAt = performance.now();
  const failures: TestFailure[] = [];
  const fail = (path: KeyPath, message: string, difference?: Difference): void => {
    const key = path.map((step, index) => (typeof step === "number" ? `[${step}]` : index === 0 ? step : `.${step}`));
    failures.push({
      location: file.locate([...test.at, ...path]),
      key: key.join(""),
      message: server.showOriginals(message),
      difference,
    });
  };
  const setupError = await runSetup(test.setup, file, server);
  if (setupError !== undefined) fail(["setup"], setupError);
  else {
    try {
      const response = await sendRequest(test.request, file, server);
      const stored = test.expect.snapshot ? snapshots.check(test.name, response) : [];
      for (const difference of [...checkResponse(test.expect, response), ...stored]) {
        const { expected, received } = difference;
        const shown = { ...difference, received: server.showOriginals(received) };
        fail(["expect", ...difference.path], `expected ${expected}, received ${shown.received}`, shown);
      }
    } catch (error) {
      fail(["request"], `the request failed: ${errorMessage(error)}`);
    }
  }
  for (const refusal of server.takeRefusals()) fail(["request"], refusal);
  return {
    file: file.file,
    name: test.name,
    location: file.locate([...test.at, "name"]),
    durationMs: performance.now() - startedAt,
    failures,
  };
}

/** Changes the copy of the data. Returns an error message, if there is one. */
async function runSetup(
  sql: string | undefined,
  { endpoint }: TestFile,
  server: TestServer,
): Promise<string | undefined> {
  if (sql === undefined) return undefined;
  server.markChanged();
  try {
    await server.service.engine.write({
      connections: endpoint.connections.map(({ name }) => name),
      statements: setupStatements(sql).map((each) => statement(each)),
      // One transaction cannot change several databases.
      transaction: false,
      returnsData: false,
      signal: new AbortController().signal,
    });
    return undefined;
  } catch (error) {
    if (!(error instanceof RequestFailure)) throw error;
    const message = messageOf(error.failure);
    return server.explain(message) ?? message;
  }
}

function messageOf(failure: Failure): string {
  return "message" in failure ? failure.message : errorText(failureResponse(failure));
}
