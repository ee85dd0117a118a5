import { z } from "zod";
import type { Validator } from "../parameter.ts";
import { invalid, valid } from "./checked.ts";
import { sharedOptions } from "./options.ts";

const TRUE = valid(true);
const FALSE = valid(false);
const NOT_A_BOOLEAN = invalid("Invalid boolean value");

/** `true` or `false`, in any case. */
export const boolean = z.strictObject({ type: z.literal("boolean"), ...sharedOptions }).transform(
  (): Validator => ({
    type: "boolean",
    databaseType: () => "BOOLEAN",
    jsonSchema: { type: "boolean" },
    scansForInjection: false,
    check(text) {
      if (text.length > 5) return NOT_A_BOOLEAN;
      const word = text.toLowerCase();
      if (word === "true") return TRUE;
      return word === "false" ? FALSE : NOT_A_BOOLEAN;
    },
  }),
);
