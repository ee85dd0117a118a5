import type { Report } from "../events.ts";
import { openAppendedFile } from "./appended-file.ts";
import { type AuditEntry, auditLines } from "./audit-line.ts";

export type { AuditEntry } from "./audit-line.ts";

/** An enabled `audit` block. */
export interface AuditConfig {
  readonly sink: { readonly kind: "stdout" } | { readonly kind: "file"; readonly path: string };
  /** Names of parameters, in any case, whose values are redacted. */
  readonly redact: readonly string[];
}

/** The audit log: one line per call. */
export interface Audit {
  record(entry: AuditEntry): void;
  /** Writes the remaining lines. Later ones are dropped. */
  close(): Promise<void>;
}

export interface AuditOptions {
  /** Writes a whole line, including its line feed. */
  readonly stdout: (line: string) => void;
  readonly report: Report;
}

/** Rejects with an Error that names the file if it cannot be opened. */
export async function openAudit({ sink, redact }: AuditConfig, { stdout, report }: AuditOptions): Promise<Audit> {
  const lineOf = auditLines(redact);
  switch (sink.kind) {
    case "stdout":
      return { record: (entry) => stdout(lineOf(entry)), close: async () => {} };
    case "file": {
      const file = await openAppendedFile(sink.path, report);
      return { record: (entry) => file.append(lineOf(entry)), close: file.close };
    }
  }
}
