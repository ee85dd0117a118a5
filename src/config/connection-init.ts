import { engine } from "../engines/index.ts";
import type { ConnectionConfig } from "./project.ts";

/** The SQL that opens a connection: first the SQL of its `type`, then its own `init`. */
export function initOf({ name, type, options, readOnly, init }: ConnectionConfig): string | undefined {
  const expanded = engine.connectionTypes.find((known) => known.type === type)?.expand(options, { name, readOnly });
  return [expanded, init].filter((sql) => sql !== undefined).join(";\n") || undefined;
}
