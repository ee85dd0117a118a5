import { type Audit, openAudit } from "../audit/audit.ts";
import { loadProject } from "../config/load-project.ts";
import { oneLine } from "../config/problem.ts";
import type { MainConfig } from "../config/project.ts";
import type { Report } from "../events.ts";
import { ListenError, type Listener, listen } from "../http/listen.ts";
import { CertificateError } from "../http/tls.ts";
import { openLogger } from "../log/logger.ts";
import { openRestApp, type RestApp } from "../rest/rest-app.ts";
import { openService } from "../service.ts";
import { tryProject } from "./check.ts";
import { type Command, type ExitCode, exitCodes, type Runtime } from "./command.ts";
import { projectOptionsHelp, readOptions } from "./options.ts";
import { hasErrors, printProblems, strictly } from "./print-problems.ts";

/** Serves a project until it is told to stop. */
export const serve: Command = {
  name: "serve",
  summary: "serve the project (this is what `eider` alone does)",
  help: `Usage: eider serve [options]

Serves the endpoints of a project, and prints one line per listener when it is ready.

Options:
${projectOptionsHelp}
      --strict          security warnings stop the start

Example:
  eider serve --config project/eider.yaml --port 8080`,
  async run(args, runtime) {
    const { config: file, port, host, logLevel, logFormat, flags } = readOptions(args, ["strict"]);
    const strict = flags.has("strict");
    const overrides = { port, host, logLevel, logFormat };
    const loaded = await loadProject({ file, cwd: runtime.cwd, env: runtime.env, overrides });
    if (loaded.project === undefined) {
      // Everything at once: what is wrong with the SQL of the rest is told as well.
      const rest = loaded.sound && (await tryProject(loaded.sound, true, runtime));
      printProblems(strictly([...loaded.problems, ...(rest?.problems ?? [])], strict), runtime.stderr);
      return exitCodes.problem;
    }
    const warnings = strictly(loaded.problems, strict);
    printProblems(warnings, runtime.stderr);
    if (hasErrors(warnings)) return exitCodes.problem;
    const { main, inactive } = loaded.project;
    const { temporary, self } = runtime;
    for (const line of inactive) runtime.stderr.write(`not active yet: ${line}\n`);
    const { report } = openLogger({
      level: main.log.level,
      format: main.log.format ?? (runtime.stderr.isTerminal ? "pretty" : "json"),
      write: (line) => runtime.stderr.write(line),
      now: runtime.now,
    });
    const opened = await openService(loaded.project, { report, connect: true, temporary, self, env: runtime.env });
    const problems = strictly(opened.problems, strict);
    printProblems(problems, runtime.stderr);
    if (hasErrors(problems)) {
      await opened.service?.close();
      return exitCodes.problem;
    }
    if (opened.service === undefined) {
      runtime.stderr.write(`${oneLine(opened.unreachable ?? "the project could not be opened")}\n`);
      return exitCodes.unavailable;
    }
    const audit = await openAuditOf(main, report, runtime);
    if (audit === "failed") {
      await opened.service.close();
      return exitCodes.problem;
    }
    const app = openRestApp(opened.service, { report, now: runtime.now, audit });
    opened.service.caches.start();
    return serveApp(app, { main, report }, runtime);
  },
};

/** Where calls are written down, when they are. */
async function openAuditOf(
  main: MainConfig,
  report: Report,
  { stdout, stderr }: Runtime,
): Promise<Audit | undefined | "failed"> {
  const { audit } = main.protections;
  if (audit === undefined) return undefined;
  try {
    return await openAudit(audit, { stdout: (line) => stdout.write(line), report });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    printProblems([{ severity: "error", location: main.locate(["audit"]), path: "audit.path", message }], stderr);
    return "failed";
  }
}

interface Serving {
  readonly main: MainConfig;
  readonly report: Report;
}

async function serveApp(app: RestApp, { main, report }: Serving, runtime: Runtime): Promise<ExitCode> {
  let listener: Listener;
  try {
    const { https } = main.protections;
    listener = await listen({ ...main.http, handle: app.handle, tls: https?.tls && { ...https.tls, report } });
  } catch (error) {
    await app.close();
    if (error instanceof CertificateError) {
      const { message } = error;
      const location = main.locate(["enforce-https"]);
      printProblems([{ severity: "error", location, path: "enforce-https", message }], runtime.stderr);
      return exitCodes.problem;
    }
    if (!(error instanceof ListenError)) throw error;
    runtime.stderr.write(`${error.message}\n`);
    return exitCodes.unavailable;
  }
  const stopped = new Promise<void>((resolve) => {
    let asked = false;
    runtime.onStop(() => {
      if (asked) stopNow(app, listener, runtime);
      asked = true;
      resolve();
    });
  });
  runtime.stdout.write(`REST listening on ${listener.url}\n`);
  await stopped;
  await drain(app, listener, main.limits.shutdownGraceMs);
  holdNoLonger(runtime);
  return exitCodes.done;
}

/** For clients that do not read what is left of their answer. */
const UNREAD_MS = 2_000;
/** For work on other threads to hear that it is interrupted. */
const INTERRUPT_MS = 500;

/** Calls in flight get the grace, then their queries are interrupted. */
async function drain(app: RestApp, listener: Listener, graceMs: number): Promise<void> {
  app.drain();
  const closed = listener.close();
  const timer = setTimeout(() => app.cancelAll(), graceMs);
  const lastResort = setTimeout(() => listener.destroy(), graceMs + UNREAD_MS);
  await closed;
  clearTimeout(timer);
  clearTimeout(lastResort);
  await Promise.race([app.close(), new Promise((resolve) => setTimeout(resolve, INTERRUPT_MS).unref())]);
}

/** A second signal: no grace for anybody. */
function stopNow(app: RestApp, listener: Listener, runtime: Runtime): void {
  app.cancelAll();
  listener.destroy();
  holdNoLonger(runtime);
}

/** Nothing can interrupt a source that waits for its server; a process that is done does not wait with it. */
function holdNoLonger(runtime: Runtime): void {
  setTimeout(() => runtime.kill(), INTERRUPT_MS).unref();
}
