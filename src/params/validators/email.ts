import { z } from "zod";
import type { Validator } from "../parameter.ts";
import { invalid, valid } from "./checked.ts";
import { sharedOptions } from "./options.ts";

const WRONG_FORMAT = invalid("Invalid email format");

/** RFC 5321: 64 octets before the `@`, 254 in all. */
const MAX_LENGTH = 254;

/**
 * Words joined by single dots, an `@`, and a host name of at least two labels. Allows letters of any script. V8 builds the sets of
 * letters when it reaches the expression, which takes milliseconds, so it is not at the top level.
 */
function isAddress(text: string): boolean {
  return /^(?=[^@]{1,64}@)[\p{L}\p{M}\p{N}!#$%&'*+/=?^_`{|}~-]+(?:\.[\p{L}\p{M}\p{N}!#$%&'*+/=?^_`{|}~-]+)*@(?:[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}-]{0,61}[\p{L}\p{M}\p{N}])?\.)+(?!\p{N}+$)[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}-]{0,61}[\p{L}\p{M}\p{N}])$/u.test(
    text,
  );
}

/** An email address in common form: without quotes, comments or IP addresses. */
export const email = z.strictObject({ type: z.literal("email"), ...sharedOptions }).transform(
  ({ preventSqlInjection }): Validator => ({
    type: "email",
    databaseType: () => "VARCHAR",
    jsonSchema: { type: "string", format: "email" },
    scansForInjection: preventSqlInjection,
    check: (text) => (text.length <= MAX_LENGTH && isAddress(text) ? valid(text) : WRONG_FORMAT),
  }),
);
