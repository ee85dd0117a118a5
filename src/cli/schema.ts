import { endpointJsonSchema, mainJsonSchema, testFileJsonSchema } from "../config/json-schema.ts";
import { type Command, exitCodes, UsageError } from "./command.ts";

const schemas = { main: mainJsonSchema, endpoint: endpointJsonSchema, test: testFileJsonSchema } as const;

export const schema: Command = {
  name: "schema",
  summary: "print the JSON Schema of the YAML files, for editors",
  help: `Usage: eider schema [main | endpoint | test]

Prints the JSON Schema of the configuration file (main), of endpoint files (default) or of endpoint tests (test). Editors
use it to complete and explain keys and to mark mistakes. Save it, and name it in the first line of a YAML file:

  # yaml-language-server: $schema=./endpoint.schema.json

Example:
  eider schema endpoint > endpoint.schema.json`,
  async run(args, { stdout }) {
    const [name = "endpoint", ...others] = args;
    if ((name !== "main" && name !== "endpoint" && name !== "test") || others.length > 0) {
      throw new UsageError("schema: expected one of main, endpoint, test");
    }
    stdout.write(`${JSON.stringify(schemas[name](), null, 2)}\n`);
    return exitCodes.done;
  },
};
