import { type PageAsset, pageHeaders } from "../docs/page-assets.ts";
import { RequestFailure } from "../failure.ts";
import { variesByOrigin } from "../http/cors.ts";
import { clientOf } from "../http/forwarded.ts";
import { hostName } from "../http/https-only.ts";
import type { BuiltInRoute, BuiltInRoutes } from "./built-in-route.ts";
import { checkAccess } from "./check-access.ts";
import type { RestContext } from "./context.ts";
import { type Docs, EVENTS_PATH, type Sendable } from "./docs.ts";
import type { HttpExchange } from "./exchange.ts";
import { parseMediaRanges } from "./negotiation/media-ranges.ts";
import { negotiateCoding } from "./negotiation/negotiate-coding.ts";
import type { Target } from "./read-params/target.ts";
import { cachingRules } from "./response/headers.ts";
import { matchesTag } from "./response/if-none-match.ts";
import { compressBody } from "./response/whole-response.ts";

type Kind = "json" | "yaml" | "page";

const PATH = "/docs";

/** `/docs` and its aliases. */
export function docsRoutes(context: RestContext): BuiltInRoutes {
  const { docs, livePages } = context;
  if (docs === undefined) return {};
  const route = (handle: BuiltInRoute["handle"]): BuiltInRoute => ({ methods: ["GET"], handle });
  const document = (kind: Kind | "negotiated"): BuiltInRoute =>
    route((exchange, target) => sendDocs(kind, target, exchange, { docs, context }));
  return {
    [PATH]: document("negotiated"),
    "/doc": document("negotiated"),
    "/openapi.json": document("json"),
    "/openapi.yaml": document("yaml"),
    "/doc.yaml": document("yaml"),
    // The page's links are relative to `/docs`, so that a proxy can serve it under another path. From `/docs/`, they would break.
    "/docs/": route(({ response, requestId }) => {
      response.writeHead(308, { Location: "../docs", "X-Request-Id": requestId }).end();
    }),
    "/docs/assets/*": route((exchange, target) => sendAsset(target, exchange, { docs, context })),
    ...(livePages && {
      [EVENTS_PATH]: route(({ response, requestId }) => livePages.add(response, requestId)),
    }),
  };
}

interface DocsContext {
  readonly docs: Docs;
  readonly context: RestContext;
}

/**
 * With `docs.auth`, only the document requires authentication. The page and its files reveal nothing about the project; the
 * page asks for credentials, to load the document.
 */
async function sendDocs(
  requested: Kind | "negotiated",
  target: Target,
  exchange: HttpExchange,
  { docs, context }: DocsContext,
): Promise<void> {
  const kind = requested === "negotiated" ? kindOf(target, exchange.request.headers.accept) : requested;
  const { access, service } = context;
  const auth = service.project.main.docs?.needsAuth === true ? access.auth : undefined;
  // The page, the document and error responses have the same path, so they must send the same `Vary`.
  const { vary, isPrivate } = cachingRules({ auth, parameters: [] }, access.cors);
  exchange.response.setHeader("Vary", vary);
  const headers = { "Cache-Control": isPrivate ? "private, no-cache" : "no-cache" };
  if (kind === "page") {
    const { html } = await docs.page();
    return await send(exchange, { ...html, compressedBodies: compressedOf(html) }, { ...pageHeaders, ...headers });
  }
  await checkAccess(
    { name: PATH, auth, rateLimit: auth === undefined ? undefined : access.rateLimit },
    exchange,
    context,
  );
  await send(exchange, await docs.document(kind, serverOf(exchange, access)), headers);
}

/** The URL at which the client reached this service. */
function serverOf({ request }: HttpExchange, { proxies }: RestContext["access"]): string {
  const { host, isSecure } = clientOf(request, proxies);
  return host !== undefined && hostName(host) !== undefined ? `${isSecure ? "https" : "http"}://${host}` : "/";
}

/** What the query parameter `format` selects, otherwise what `Accept` prefers: for browsers, the page. The default is JSON. */
function kindOf({ query }: Target, accept: string | undefined): Kind {
  const named = new URLSearchParams(query).get("format")?.toLowerCase();
  if (named === "json" || named === "yaml") return named;
  if (named !== undefined) {
    throw new RequestFailure({ kind: "invalid-params", errors: [{ field: "format", message: "Invalid enum value" }] });
  }
  let best: { readonly kind: Kind; readonly q: number } | undefined;
  for (const { type, subtype, q } of parseMediaRanges(accept ?? "")) {
    const kind = KINDS[`${type}/${subtype}`];
    if (kind !== undefined && q > (best?.q ?? 0)) best = { kind, q };
  }
  return best?.kind ?? "json";
}

const KINDS: Readonly<Record<string, Kind>> = {
  "text/html": "page",
  "application/xhtml+xml": "page",
  "application/json": "json",
  "application/vnd.oai.openapi+json": "json",
  "application/yaml": "yaml",
  "application/x-yaml": "yaml",
  "text/yaml": "yaml",
  "application/vnd.oai.openapi": "yaml",
};

async function sendAsset(target: Target, exchange: HttpExchange, { docs, context }: DocsContext): Promise<void> {
  const { assets } = await docs.page();
  const asset = assets.find(({ path }) => path === target.path);
  if (asset === undefined) throw new RequestFailure({ kind: "not-found" });
  const vary = variesByOrigin(context.access.cors) ? "Accept-Encoding, Origin" : "Accept-Encoding";
  const headers = { ...pageHeaders, Vary: vary, "Cache-Control": "public, max-age=31536000, immutable" };
  await send(exchange, { ...asset, compressedBodies: compressedOf(asset) }, headers);
}

/** The compressed bodies of each file of the page, so that each is compressed only once. */
const compressedAssets = new WeakMap<PageAsset, Sendable["compressedBodies"]>();

function compressedOf(asset: PageAsset): Sendable["compressedBodies"] {
  const compressed = compressedAssets.get(asset) ?? new Map();
  compressedAssets.set(asset, compressed);
  return compressed;
}

async function send(
  { request, response, requestId }: HttpExchange,
  { body, hash, contentType, compressedBodies }: Sendable,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  const compressor = negotiateCoding(request.headers["accept-encoding"]);
  const tag = compressor === undefined ? `"${hash}"` : `W/"${hash}"`;
  const common = { ...headers, ETag: tag, "X-Request-Id": requestId };
  if (matchesTag(request.headers["if-none-match"], hash)) {
    response.writeHead(304, common).end();
    return;
  }
  const bytes = compressor === undefined ? body : await compressBody({ body: [body], compressedBodies }, compressor);
  const coding = compressor === undefined ? {} : { "Content-Encoding": compressor.coding };
  response.writeHead(200, { ...common, ...coding, "Content-Type": contentType, "Content-Length": bytes.length });
  response.end(request.method === "HEAD" ? undefined : bytes);
}

/** Redirects a browser that opens `/` to the page. Returns whether it did. Only called if no endpoint has this path. */
export function redirectToDocs(
  target: Target,
  { request, response, requestId }: HttpExchange,
  { docs }: RestContext,
): boolean {
  if (docs === undefined || target.path !== "/" || (request.method !== "GET" && request.method !== "HEAD"))
    return false;
  if (kindOf({ path: "/", query: "" }, request.headers.accept) !== "page") return false;
  response.writeHead(302, { Location: "docs", "Cache-Control": "no-store", "X-Request-Id": requestId }).end();
  return true;
}
