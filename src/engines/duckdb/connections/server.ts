import { quoteIdentifier, quoteLiteral } from "../../../sql/quote.ts";
import { attach, type ConnectionType, extension, secret, settingsFrom, statements } from "./connection-type.ts";

const ADDRESS = { host: "HOST", port: "PORT", database: "DATABASE", user: "USER", password: "PASSWORD" };

export interface ServerType {
  readonly type: "postgres" | "mysql";
  /** Its own options, and their names in DuckDB's secret. */
  readonly options: Readonly<Record<string, string>>;
  /** Adds Eider's defaults to a connection string. */
  readonly withDefaults: (address: string) => string;
}

/** A database server that DuckDB attaches, by its own connection string (`dsn`) or by host, port and so on. */
export function server({ type, options: own, withDefaults }: ServerType): ConnectionType {
  const names = { ...ADDRESS, ...own };
  return {
    type,
    options: ["dsn", ...Object.keys(names), "schema"],
    required: [["dsn", "host"]],
    replaces: { dsn: Object.keys(names) },
    expand(options, context) {
      const { dsn, schema } = options;
      const secretName = `${context.name}_${type}`;
      const schemas = schema === undefined ? [] : [["SCHEMA", quoteLiteral(schema)] as const];
      if (dsn !== undefined) {
        const address = withDefaults(dsn);
        return statements(extension(type), attach(context, { address, settings: [["TYPE", type], ...schemas] }));
      }
      return statements(
        extension(type),
        secret(secretName, [["TYPE", type], ...settingsFrom(options, names)]),
        attach(context, {
          address: withDefaults(""),
          settings: [["TYPE", type], ["SECRET", quoteIdentifier(secretName)], ...schemas],
        }),
      );
    },
  };
}
