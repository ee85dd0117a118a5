import type { IncomingHttpHeaders } from "node:http";
import { RequestFailure } from "../failure.ts";

const KEY = /^[\x20-\x7e]{1,255}$/;

/** The `Idempotency-Key` of a request, with which the client can safely send it again. */
export function idempotencyKeyOf(headers: IncomingHttpHeaders): string | undefined {
  const key = headers["idempotency-key"];
  if (key === undefined) return undefined;
  if (typeof key === "string" && KEY.test(key)) return key;
  const message = "Invalid string format";
  throw new RequestFailure({ kind: "invalid-params", errors: [{ field: "Idempotency-Key", message }] });
}
