import { endpointJsonSchema, mainJsonSchema } from "../config/json-schema.ts";
import { type Command, exitCodes, UsageError } from "./command.ts";

const schemas = { main: mainJsonSchema, endpoint: endpointJsonSchema } as const;

export const schema: Command = {
  name: "schema",
  summary: "print the JSON Schema of the YAML files, for editors",
  help: `Usage: eider schema [main | endpoint]

Prints the JSON Schema of the configuration file (main) or of endpoint files (default). Editors use it to complete and
explain keys and to mark mistakes. Save it, and name it in the first line of a YAML file:

  # yaml-language-server: $schema=./endpoint.schema.json

Example:
  eider schema endpoint > endpoint.schema.json`,
  async run(args, { stdout }) {
    const [name = "endpoint", ...others] = args;
    if ((name !== "main" && name !== "endpoint") || others.length > 0) {
      throw new UsageError("schema: expected one of main, endpoint");
    }
    stdout.write(`${JSON.stringify(schemas[name](), null, 2)}\n`);
    return exitCodes.done;
  },
};
