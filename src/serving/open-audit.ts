import { openAudit } from "../audit/audit.ts";
import { auditObserver } from "../calls/audit-observer.ts";
import type { CallObserver } from "../calls/observed-call.ts";
import type { Problem } from "../config/problem.ts";
import type { MainConfig } from "../config/project.ts";
import type { Report } from "../events.ts";

/** The audit of a project: one observer if it is enabled. */
export interface ProjectAudit {
  readonly observers: readonly CallObserver[];
  close(): Promise<void>;
}

/** Opens the audit of a project. Returns a problem if its file cannot be opened. */
export async function openProjectAudit(
  main: MainConfig,
  report: Report,
  stdout: (line: string) => void,
): Promise<ProjectAudit | Problem> {
  const config = main.access.audit;
  if (config === undefined) return { observers: [], close: async () => {} };
  try {
    const audit = await openAudit(config, { stdout, report });
    return { observers: [auditObserver(audit)], close: audit.close };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { severity: "error", location: main.locate(["audit"]), path: "audit.path", message };
  }
}
