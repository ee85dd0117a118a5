import { type PageAsset, pageHeaders } from "../docs/page-assets.ts";
import { RequestFailure } from "../failure.ts";
import { variesByOrigin } from "../http/cors.ts";
import { clientOf } from "../http/forwarded.ts";
import { hostName } from "../http/https-only.ts";
import { checkAccess } from "./check-access.ts";
import type { RestContext } from "./context.ts";
import { type Docs, EVENTS_PATH, type Sendable } from "./docs.ts";
import type { HttpExchange } from "./exchange.ts";
import { parseMediaRanges } from "./negotiation/media-ranges.ts";
import { negotiateCoding } from "./negotiation/negotiate-coding.ts";
import type { OwnRoute, OwnRoutes } from "./own-route.ts";
import type { Target } from "./read-params/target.ts";
import { cachingRules } from "./response/headers.ts";
import { hasCurrent } from "./response/if-none-match.ts";
import { packBody } from "./response/whole-response.ts";

type Kind = "json" | "yaml" | "page";

const PATH = "/docs";

/** `/docs` and its aliases. */
export function docsRoutes(context: RestContext): OwnRoutes {
  const { docs, livePages } = context;
  if (docs === undefined) return {};
  const route = (handle: OwnRoute["handle"]): OwnRoute => ({ methods: ["GET"], handle });
  const document = (kind: Kind | "negotiated"): OwnRoute =>
    route((exchange, target) => sendDocs(kind, target, exchange, { docs, context }));
  return {
    [PATH]: document("negotiated"),
    "/doc": document("negotiated"),
    "/openapi.json": document("json"),
    "/openapi.yaml": document("yaml"),
    "/doc.yaml": document("yaml"),
    // Links of the page are relative, so that a proxy may serve it below another path.
    "/docs/": route(({ response, requestId }) => {
      response.writeHead(308, { Location: "../docs", "X-Request-Id": requestId }).end();
    }),
    "/docs/assets/*": route((exchange, target) => sendAsset(target, exchange, { docs, context })),
    ...(livePages && {
      [EVENTS_PATH]: route(({ response, requestId }) => livePages.add(response, requestId)),
    }),
  };
}

interface Documented {
  readonly docs: Docs;
  readonly context: RestContext;
}

/** The page and its files reveal nothing of the project, and the page asks for credentials itself: only the document is protected. */
async function sendDocs(
  alias: Kind | "negotiated",
  target: Target,
  exchange: HttpExchange,
  { docs, context }: Documented,
): Promise<void> {
  const kind = alias === "negotiated" ? kindOf(target, exchange.request.headers.accept) : alias;
  const { access, service } = context;
  const auth = service.project.main.docs?.needsAuth === true ? access.auth : undefined;
  // The page, the document and a rejection share a path, so all of them name what any depends on.
  const { vary, isPrivate } = cachingRules({ auth, parameters: [] }, access.cors);
  exchange.response.setHeader("Vary", vary);
  const headers = { "Cache-Control": isPrivate ? "private, no-cache" : "no-cache" };
  if (kind === "page") {
    const { html } = await docs.page();
    return await send(exchange, { ...html, packed: packedOf(html) }, { ...pageHeaders, ...headers });
  }
  await checkAccess(
    { name: PATH, auth, rateLimit: auth === undefined ? undefined : access.rateLimit },
    exchange,
    context,
  );
  await send(exchange, await docs.document(kind, serverOf(exchange, access)), headers);
}

/** The URL of this service as the client wrote it. */
function serverOf({ request }: HttpExchange, { proxies }: RestContext["access"]): string {
  const { host, isSecure } = clientOf(request, proxies);
  return host !== undefined && hostName(host) !== undefined ? `${isSecure ? "https" : "http"}://${host}` : "/";
}

/** `format`, else what `Accept` prefers: browsers get the page, other clients JSON. */
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

async function sendAsset(target: Target, exchange: HttpExchange, { docs, context }: Documented): Promise<void> {
  const { assets } = await docs.page();
  const asset = assets.find(({ path }) => path === target.path);
  if (asset === undefined) throw new RequestFailure({ kind: "not-found" });
  const vary = variesByOrigin(context.access.cors) ? "Accept-Encoding, Origin" : "Accept-Encoding";
  const headers = { ...pageHeaders, Vary: vary, "Cache-Control": "public, max-age=31536000, immutable" };
  await send(exchange, { ...asset, packed: packedOf(asset) }, headers);
}

/** Files of the page are packed once. */
const packedAssets = new WeakMap<PageAsset, Sendable["packed"]>();

function packedOf(asset: PageAsset): Sendable["packed"] {
  const packed = packedAssets.get(asset) ?? new Map();
  packedAssets.set(asset, packed);
  return packed;
}

async function send(
  { request, response, requestId }: HttpExchange,
  { body, hash, contentType, packed }: Sendable,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  const compressor = negotiateCoding(request.headers["accept-encoding"]);
  const tag = compressor === undefined ? `"${hash}"` : `W/"${hash}"`;
  const common = { ...headers, ETag: tag, "X-Request-Id": requestId };
  if (hasCurrent(request.headers["if-none-match"], hash)) {
    response.writeHead(304, common).end();
    return;
  }
  const bytes = compressor === undefined ? body : await packBody({ body: [body], packed }, compressor);
  const coding = compressor === undefined ? {} : { "Content-Encoding": compressor.coding };
  response.writeHead(200, { ...common, ...coding, "Content-Type": contentType, "Content-Length": bytes.length });
  response.end(request.method === "HEAD" ? undefined : bytes);
}

/** Redirects a browser that opens `/` to the page, where no endpoint has that path. */
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
