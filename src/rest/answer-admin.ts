import { type AdminPage, pageAt, pageMethods, sendPage } from "../admin/pages.ts";
import { RequestFailure } from "../failure.ts";
import { isLocalClient } from "../http/local-client.ts";
import type { Target } from "./read-params/target.ts";
import type { RestContext } from "./rest-app.ts";
import { type Asked, sendOptions } from "./send-failure.ts";

/**
 * Answers what is asked of the service itself: its health, and from this machine its metrics. Not where these have a listener
 * of their own. decisions 1, `admin`.
 */
export function answerAdmin(
  { path }: Target,
  asked: Asked,
  context: RestContext,
  fail: (error: unknown) => void,
): boolean {
  const { admin, service, protections } = context;
  if (admin === undefined || !(path.startsWith("/health") || path.startsWith("/metrics"))) return false;
  const { sources, caches } = service;
  const { request, response } = asked;
  const page = pageAt(path, {
    health: { sources, caches, heartbeats: admin.heartbeats },
    isDraining: context.isDraining(),
    metrics: admin.metrics !== undefined && isLocalClient(request, protections.proxies) ? admin.metrics : undefined,
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

function answer(page: AdminPage, asked: Asked, context: RestContext): void {
  const { method = "" } = asked.request;
  if (!pageMethods.some((known) => known === method)) {
    throw new RequestFailure({ kind: "method-not-allowed", allow: pageMethods });
  }
  if (method === "OPTIONS") sendOptions(asked, pageMethods, context);
  else sendPage(asked, page);
}
