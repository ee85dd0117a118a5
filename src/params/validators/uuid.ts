import { z } from "zod";
import type { Validator } from "../parameter.ts";
import { invalid, valid } from "./checked.ts";
import { sharedOptions } from "./options.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const WRONG_FORMAT = invalid("Invalid UUID format");

/** A UUID of any version. */
export const uuid = z.strictObject({ type: z.literal("uuid"), ...sharedOptions }).transform(
  (): Validator => ({
    type: "uuid",
    databaseType: () => "VARCHAR",
    jsonSchema: { type: "string", format: "uuid" },
    scansForInjection: false,
    check: (text) => (UUID.test(text) ? valid(text) : WRONG_FORMAT),
  }),
);
