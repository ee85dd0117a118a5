import type { HttpExchange } from "./exchange.ts";
import type { Target } from "./read-params/target.ts";

/** A route of the service itself, such as `/health`. It takes precedence over endpoints. */
export interface BuiltInRoute {
  /** Other methods get 405. OPTIONS is handled for the route. */
  readonly methods: readonly string[];
  /** Also served while the service shuts down. */
  readonly servedWhileDraining?: true;
  handle(exchange: HttpExchange, target: Target): void | Promise<void>;
}

/** Own routes by path. A trailing `*` matches everything below. */
export type OwnRoutes = Readonly<Record<string, BuiltInRoute>>;
