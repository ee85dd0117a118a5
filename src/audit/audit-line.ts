import type { Identity } from "../auth/identity.ts";
import type { RawParams } from "../params/parameter.ts";
import { escapeUnprintable } from "../printable.ts";
import { REDACTED, redaction } from "./redaction.ts";

/** One finished call. */
export interface AuditEntry {
  readonly time: Date;
  readonly requestId: string;
  readonly surface: "rest" | "mcp";
  readonly endpoint: string;
  readonly identity:
    | { readonly type: string; readonly username: string | undefined; readonly roles: string | undefined }
    | undefined;
  readonly address: string;
  readonly parameters: Iterable<readonly [name: string, text: string]>;
  readonly rows: number | undefined;
  readonly durationMs: number;
  readonly status: number;
}

const MAX_TEXT_LENGTH = 1000;

/** Returns a function that formats a call as a line of JSON, with keys in a fixed order. */
export function auditLines(redact: readonly string[]): (entry: AuditEntry) => string {
  const isRedacted = redaction(redact);

  /** Not built as an object, which would mishandle `__proto__` and put numeric keys first. */
  function parametersText(parameters: AuditEntry["parameters"]): string {
    const fields: string[] = [];
    for (const [name, text] of new Map(parameters)) {
      const value = isRedacted(name) ? REDACTED : shorten(text);
      fields.push(`${JSON.stringify(shorten(name))}:${JSON.stringify(value)}`);
    }
    return `{${fields.join(",")}}`;
  }

  return ({ time, requestId, surface, endpoint, identity, address, parameters, rows, durationMs, status }) => {
    const identityFields = identity && {
      type: identity.type,
      username: identity.username === undefined ? null : shorten(identity.username),
      roles: identity.roles === undefined ? null : shorten(identity.roles),
    };
    const head = JSON.stringify({
      time: time.toISOString(),
      request_id: requestId,
      surface,
      endpoint,
      identity: identityFields ?? null,
      address,
    });
    const tail = JSON.stringify({ rows: rows ?? null, duration_ms: Number(durationMs.toFixed(3)), status });
    // JSON does not escape all control characters.
    return `${escapeUnprintable(`${head.slice(0, -1)},"parameters":${parametersText(parameters)},${tail.slice(1)}`)}\n`;
  };
}

function shorten(text: string): string {
  if (text.length <= MAX_TEXT_LENGTH) return text;
  const last = text.charCodeAt(MAX_TEXT_LENGTH - 1);
  // Keeps surrogate pairs together.
  const end = last >= 0xd800 && last <= 0xdbff ? MAX_TEXT_LENGTH - 1 : MAX_TEXT_LENGTH;
  return `${text.slice(0, end)}[cut: ${text.length} characters]`;
}

/** The identity of a call, as in the audit log. */
export function auditIdentity(identity: Identity | undefined) {
  const type = identity?.get("type")?.text;
  if (type === undefined) return undefined;
  return { type, username: identity?.get("username")?.text, roles: identity?.get("roles")?.text };
}

/** All parameters of a request. */
export function* parametersOf(raw: RawParams | undefined): Generator<readonly [string, string]> {
  if (raw === undefined) return;
  for (const values of [raw.path, raw.query, raw.header, raw.body]) {
    for (const [name, { text }] of values) yield [name, text];
  }
}
