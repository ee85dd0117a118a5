import type { Dialect } from "../sql/dialect.ts";
import type { ConnectionOptions, OptionRules } from "./connection-type.ts";
import type { Engine } from "./engine.ts";

/** A connection whose SQL runs on another machine. */
export interface RemoteConnection {
  readonly name: string;
  /** SQL that runs once for each connection to the server. */
  readonly init: string | undefined;
  readonly options: ConnectionOptions;
  readonly readOnly: boolean;
  /** Strings that must never appear in a message. */
  readonly secrets: readonly string[];
  /** Maximum concurrent queries. */
  readonly maxConcurrency: number | undefined;
  /** How long connecting may take, in milliseconds. */
  readonly connectTimeoutMs: number;
  /** Maximum bytes of one value that a query returns. */
  readonly maxValueBytes: number;
  /** The text of a local file, such as a certificate. Undefined if it cannot be read. */
  readonly readFile: (path: string) => string | undefined;
  /** The maximum length of the queue. Undefined: the engine chooses one. */
  readonly maxQueued: number | undefined;
}

/** An engine on another machine. Each connection with `engine: <name>` has one of its own. */
export interface RemoteEngineType extends OptionRules {
  /** The value of `engine`. */
  readonly name: string;
  readonly dialect: Dialect;
  /** Connects only when `openConnection` or a call needs it. */
  open(connection: RemoteConnection): Engine;
}
