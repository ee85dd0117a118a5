/** The position of a call in a trace, as in W3C Trace Context. */
export interface TracePlace {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits: the span of the client, or ours. */
  readonly spanId: string;
  readonly flags: number;
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const NOTHING = /^0+$/;

/** Undefined when it is invalid: then a new trace begins, as the standard says. */
export function readTraceparent(header: string | undefined): TracePlace | undefined {
  const [, version, traceId = "", spanId = "", flags = "", more] = TRACEPARENT.exec(header?.trim() ?? "") ?? [];
  if (version === undefined || version === "ff" || (version === "00" && more !== undefined)) return undefined;
  if (NOTHING.test(traceId) || NOTHING.test(spanId)) return undefined;
  return { traceId, spanId, flags: Number.parseInt(flags, 16) };
}

export function writeTraceparent({ traceId, spanId, flags }: TracePlace): string {
  return `00-${traceId}-${spanId}-${flags.toString(16).padStart(2, "0")}`;
}
