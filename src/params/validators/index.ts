import { boolean } from "./boolean.ts";
import { date } from "./date.ts";
import { email } from "./email.ts";
import { enumeration } from "./enum.ts";
import { int } from "./int.ts";
import { number } from "./number.ts";
import { string } from "./string.ts";
import { time } from "./time.ts";
import { uuid } from "./uuid.ts";

/**
 * The validator types. To add one, write its file and list it here. Each parses its options from YAML scalars
 * (`scalars.ts`) to a compiled Validator.
 */
export const validators = [int, string, enumeration, email, uuid, date, time, number, boolean] as const;

/** Their names in YAML. */
export const validatorTypes: readonly string[] = validators.map((validator) => validator.in.shape.type.value);
