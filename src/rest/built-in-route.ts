import type { HttpExchange } from "./exchange.ts";
import type { Target } from "./read-params/target.ts";

/** A route of the service itself, such as `/health`. It takes precedence over endpoints. */
export interface BuiltInRoute {
  /** Other methods get 405, except OPTIONS, which never reaches `handle`. */
  readonly methods: readonly string[];
  /** Also served while the service shuts down. */
  readonly servedWhileDraining?: true;
  handle(exchange: HttpExchange, target: Target): void | Promise<void>;
}

/** By path. A trailing `*` matches every path with that prefix. */
export type BuiltInRoutes = Readonly<Record<string, BuiltInRoute>>;
