import type { ServerResponse } from "node:http";
import type { Audit } from "../audit/audit.ts";
import { callerOf, parametersOf } from "../audit/audit-entry.ts";
import type { Identity } from "../auth/identity.ts";
import type { Rows } from "../engines/engine.ts";
import type { RawParams } from "../params/parameter.ts";
import type { WholeAnswer } from "./answer/whole-answer.ts";

/** What becomes known of a call on its way, for its line in the audit. */
export interface AuditedCall {
  identity: Identity | undefined;
  raw: RawParams | undefined;
  rows: number | undefined;
}

/** How many rows answers hold that may be sent again. */
const rowsOf = new WeakMap<WholeAnswer, number>();

/** Writes the line when the answer is over, however it ends. */
export function auditCall(
  audit: Audit,
  {
    response,
    requestId,
    endpoint,
    address,
    now,
  }: {
    readonly response: ServerResponse;
    readonly requestId: string;
    readonly endpoint: string;
    readonly address: string;
    readonly now: () => Date;
  },
): AuditedCall {
  const call: AuditedCall = { identity: undefined, raw: undefined, rows: undefined };
  const time = now();
  const from = performance.now();
  response.once("close", () => {
    audit.record({
      time,
      requestId,
      surface: "rest",
      endpoint,
      identity: callerOf(call.identity),
      address,
      parameters: parametersOf(call.raw),
      rows: call.rows,
      durationMs: performance.now() - from,
      // The status that proxies log for a client that did not wait.
      status: response.writableFinished ? response.statusCode : 499,
    });
  });
  return call;
}

/** The same rows, counted as they go by. */
export function countRows(rows: Rows, call: AuditedCall): Rows {
  call.rows = 0;
  return {
    ...rows,
    async next() {
      const chunk = await rows.next();
      if (chunk !== undefined) call.rows = (call.rows ?? 0) + chunk.rows;
      return chunk;
    },
  };
}

export function keepCount(answer: WholeAnswer, { rows }: AuditedCall): void {
  if (rows !== undefined) rowsOf.set(answer, rows);
}

export function recallCount(answer: WholeAnswer, call: AuditedCall): void {
  call.rows = rowsOf.get(answer);
}

/** Of the answer to a write, which always begins with it. */
export function countWritten(body: string, call: AuditedCall): void {
  const [, count] = /^\{"rows_affected":(\d+)/.exec(body) ?? [];
  call.rows = count === undefined ? undefined : Number(count);
}
