import { pageAt, sendPage } from "../admin/pages.ts";
import { RequestFailure } from "../failure.ts";
import type { BuiltInRoute, BuiltInRoutes } from "./built-in-route.ts";
import type { RestContext } from "./context.ts";

/** Health and metrics, where they have no listener of their own. */
export function adminRoutes({ admin, service: { connectionStatus, caches }, isDraining }: RestContext): BuiltInRoutes {
  if (admin === undefined) return {};
  const { metrics, heartbeats } = admin;
  const health = { connectionStatus, caches, heartbeats };
  const route: BuiltInRoute = {
    methods: ["GET"],
    servedWhileDraining: true,
    async handle(exchange, { path }) {
      const page = await pageAt(path, { health, isDraining: isDraining(), metrics });
      if (page === undefined) throw new RequestFailure({ kind: "not-found" });
      if (!exchange.response.destroyed) sendPage(exchange, page);
    },
  };
  const paths = ["/health", "/health/live", "/health/ready", ...(metrics === undefined ? [] : ["/metrics"])];
  return Object.fromEntries(paths.flatMap((path) => [path, `${path}/`].map((each) => [each, route])));
}
