import { quoteIdentifier, quoteLiteral } from "../../../sql/quote.ts";
import { attach, type ConnectionType, extension, secret, settingsFrom, statements } from "./connection-type.ts";

const ADDRESS = { host: "HOST", port: "PORT", database: "DATABASE", user: "USER", password: "PASSWORD" };

/** A database server, with settings of its own, that DuckDB attaches, by its own connection string (`dsn`) or by host, port and so on. */
export function server(type: "postgres" | "mysql", more: Readonly<Record<string, string>>): ConnectionType {
  const names = { ...ADDRESS, ...more };
  return {
    type,
    options: ["dsn", ...Object.keys(names), "schema"],
    required: [["dsn", "host"]],
    expand(options, context) {
      const { dsn, schema } = options;
      const secretName = `${context.name}_${type}`;
      const schemas = schema === undefined ? [] : [["SCHEMA", quoteLiteral(schema)] as const];
      if (dsn !== undefined) {
        return statements(extension(type), attach(context, { address: dsn, settings: [["TYPE", type], ...schemas] }));
      }
      return statements(
        extension(type),
        secret(secretName, [["TYPE", type], ...settingsFrom(options, names)]),
        attach(context, {
          address: "",
          settings: [["TYPE", type], ["SECRET", quoteIdentifier(secretName)], ...schemas],
        }),
      );
    },
  };
}
