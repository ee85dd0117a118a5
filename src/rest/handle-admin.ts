import { type AdminPage, pageAt, pageMethods, sendPage } from "../admin/pages.ts";
import { RequestFailure } from "../failure.ts";
import type { Target } from "./read-params/target.ts";
import type { RestContext } from "./rest-app.ts";
import { type HttpExchange, sendOptions } from "./send-failure.ts";

/** Health of the service, and its metrics where they are public. Not where the admin listener serves both. */
export function handleAdmin(
  { path }: Target,
  asked: HttpExchange,
  context: RestContext,
  fail: (error: unknown) => void,
): boolean {
  const { admin, service } = context;
  if (admin === undefined || !(path.startsWith("/health") || path.startsWith("/metrics"))) return false;
  const { sources, caches } = service;
  const { response } = asked;
  const page = pageAt(path, {
    health: { sources, caches, heartbeats: admin.heartbeats },
    isDraining: context.isDraining(),
    metrics: admin.metrics,
  });
  if (page === undefined) return false;
  if (page instanceof Promise) {
    page
      .then((text) => {
        if (!response.destroyed) answer(text, asked, context);
      })
      .catch(fail);
  } else answer(page, asked, context);
  return true;
}

function answer(page: AdminPage, asked: HttpExchange, context: RestContext): void {
  const { method = "" } = asked.request;
  if (!pageMethods.some((known) => known === method)) {
    throw new RequestFailure({ kind: "method-not-allowed", allow: pageMethods });
  }
  if (method === "OPTIONS") sendOptions(asked, pageMethods, context);
  else sendPage(asked, page);
}
