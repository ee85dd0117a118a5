import { z } from "zod";
import { locations, type Validator } from "../../params/parameter.ts";
import { validators, validatorTypes } from "../../params/validators/index.ts";
import { describeInput, PlainScalar } from "../../params/validators/scalars.ts";
import { oneLine } from "../problem.ts";
import { unknownMessage } from "../suggest.ts";
import { isMapping } from "../tree.ts";
import { block, choice, flag, list, nonEmptyString, PARSING, string } from "./blocks.ts";

type ValidatorSchema = (typeof validators)[number];

const byType = new Map<string, ValidatorSchema>(validators.map((schema) => [schema.in.shape.type.value, schema]));

/** Selects the validator by its type. A union would report a wrong option once per type. */
export const validator = z.unknown().transform((input, context): Validator => {
  const reject = (path: PropertyKey[], message: string) => context.addIssue({ code: "custom", path, message });
  if (!isMapping(input)) {
    reject([], `expected a mapping with a type, found ${describeInput(input)}`);
    return z.NEVER;
  }
  const { type: written } = input;
  const type = written instanceof PlainScalar ? written.source : written;
  const schema = typeof type === "string" ? byType.get(type) : undefined;
  if (schema === undefined) {
    const known = `(${validatorTypes.join(", ")})`;
    if (typeof type !== "string") reject(["type"], `expected a validator type ${known}, found ${describeInput(type)}`);
    else reject(["type"], typeMessage(type));
    return z.NEVER;
  }
  const result = schema.safeParse(input, PARSING);
  if (result.success) return result.data;
  for (const issue of result.error.issues) {
    if (issue.code !== "unrecognized_keys") reject([...issue.path], issue.message);
    else {
      const message = issue.keys.map((key) => oneLine(optionMessage(key, schema))).join("\n");
      context.addIssue({ ...issue, message });
    }
  }
  return z.NEVER;
});

function typeMessage(type: string): string {
  const message = unknownMessage("type", type, validatorTypes);
  return message.endsWith("?") ? `${message} (${validatorTypes.join(", ")})` : message;
}

function optionMessage(option: string, schema: ValidatorSchema): string {
  const { type, ...options } = schema.in.shape;
  return unknownMessage(`option of type ${type.value}:`, option, Object.keys(options));
}

/** One request parameter. */
export const requestEntry = block({
  "field-name": nonEmptyString.describe("Name of the parameter; in the template, params.<field-name>."),
  "field-in": choice(locations).describe("The part of the request that contains the parameter."),
  description: string.optional().describe("Text for the documentation."),
  required: flag.prefault(false).describe("Reject requests without this parameter."),
  default: string.optional().describe("Value if the parameter is absent; it must pass the validators."),
  validators: list(validator).prefault([]).describe("Checks, in this order."),
});
