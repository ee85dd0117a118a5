import { type Audit, openAudit } from "../audit/audit.ts";
import type { MainConfig } from "../config/project.ts";
import { errorMessage } from "../error-message.ts";
import type { Report } from "../events.ts";
import type { Runtime } from "./command.ts";
import { printProblems } from "./print-problems.ts";

/** Where calls are written down, when they are. */
export async function openAuditOf(
  main: MainConfig,
  report: Report,
  { stdout, stderr }: Pick<Runtime, "stdout" | "stderr">,
): Promise<Audit | undefined | "failed"> {
  const { audit } = main.access;
  if (audit === undefined) return undefined;
  try {
    return await openAudit(audit, { stdout: (line) => stdout.write(line), report });
  } catch (error) {
    const message = errorMessage(error);
    printProblems([{ severity: "error", location: main.locate(["audit"]), path: "audit.path", message }], stderr);
    return "failed";
  }
}
