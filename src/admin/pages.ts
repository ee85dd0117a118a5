import type { RequestHandler } from "../http/listen.ts";
import type { MetricsPage } from "../metrics/open-metrics.ts";
import { type HealthParts, healthAt } from "./health.ts";

/** What the pages for operators show. */
export interface AdminParts {
  readonly health: HealthParts;
  readonly isDraining: boolean;
  /** Undefined if metrics are off, or not served on this listener. */
  readonly metrics: MetricsPage | undefined;
}

export interface AdminPage {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** The methods that these pages support. */
export const pageMethods = ["GET", "HEAD", "OPTIONS"] as const;

/** The page at a path. Undefined if there is none. */
export function pageAt(path: string, parts: AdminParts): AdminPage | Promise<AdminPage> | undefined {
  const { metrics } = parts;
  if (path === "/metrics" || path === "/metrics/") return metrics && metricsPage(metrics);
  const health = healthAt(path, parts.health, parts.isDraining);
  return health && jsonPage(health.status, health.body);
}

export function jsonPage(status: number, body: unknown): AdminPage {
  return { status, contentType: "application/json", body: JSON.stringify(body) };
}

async function metricsPage({ text, contentType }: MetricsPage): Promise<AdminPage> {
  return { status: 200, contentType, body: await text() };
}

/** Sends a page, which clients must not cache. */
export function sendPage(
  { response, requestId }: { readonly response: Parameters<RequestHandler>[1]; readonly requestId: string },
  { status, contentType, body }: AdminPage,
): void {
  const bytes = Buffer.from(body);
  response.writeHead(status, {
    "Content-Type": contentType,
    "Content-Length": bytes.length,
    "Cache-Control": "no-store",
    "X-Request-Id": requestId,
  });
  response.end(bytes);
}
