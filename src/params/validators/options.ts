import type { z } from "zod";
import { boolean } from "./scalars.ts";

/** Options of every validator type. */
export const sharedOptions = { preventSqlInjection: boolean.default(true) };

type Context = z.core.$RefinementCtx;

/** Removes undefined keywords. */
export function jsonSchema(keywords: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(keywords).filter(([, value]) => value !== undefined));
}

/** No value can satisfy these bounds, so they must be a mistake. */
export function rejectCrossedBounds(min: unknown, max: unknown, context: Context): void {
  context.addIssue({ code: "custom", path: ["max"], message: `max ${max} is less than min ${min}` });
}
