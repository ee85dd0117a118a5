import { type DocsPage, openDocsPage, type PageAsset, pageHeaders } from "../docs/page-assets.ts";
import { type DocumentSource, openProjectDocument } from "../docs/project-document.ts";
import { RequestFailure } from "../failure.ts";
import { variesByOrigin } from "../http/cors.ts";
import { clientOf } from "../http/forwarded.ts";
import { hostName } from "../http/https-only.ts";
import { checkAccess } from "./check-access.ts";
import { parseMediaRanges } from "./negotiation/media-ranges.ts";
import { negotiateCoding } from "./negotiation/negotiate-coding.ts";
import type { Target } from "./read-params/target.ts";
import type { Compressor } from "./response/compressors.ts";
import { cachingRules } from "./response/headers.ts";
import { hasCurrent } from "./response/if-none-match.ts";
import { packBody, tagOf } from "./response/whole-response.ts";
import type { RestContext } from "./rest-app.ts";
import { type HttpExchange, sendOptions } from "./send-failure.ts";

/** The documentation of a service, made when somebody asks for it. */
export interface Docs {
  /** The document for those who ask at an address. */
  document(kind: "json" | "yaml", server: string): Promise<Sendable>;
  page(): Promise<DocsPage>;
}

export interface DocsOptions {
  readonly now: () => Date;
  /** The page hears of changes. */
  readonly isLive: boolean;
}

export function openDocs(source: Omit<DocumentSource, "now" | "events">, { now, isLive }: DocsOptions): Docs {
  let page: Promise<DocsPage> | undefined;
  const events = isLive ? EVENTS.slice(1) : undefined;
  const project = openProjectDocument({ ...source, now: () => now().getTime(), events });
  const last: Partial<Record<"json" | "yaml", Sendable & { readonly text: string }>> = {};
  return {
    async document(kind, server) {
      const rendered = await project.current();
      const text = kind === "json" ? rendered.json(server) : rendered.yaml(server);
      // The same text as long as nothing changes: its bytes, its tag and its packed forms are made once.
      const known = last[kind];
      if (known?.text === text) return known;
      const body = Buffer.from(text);
      const contentType = kind === "json" ? "application/json" : "application/yaml";
      const made = { text, body, hash: tagOf(body), contentType, packed: new Map() };
      last[kind] = made;
      return made;
    },
    page() {
      page ??= openDocsPage();
      return page;
    },
  };
}

type Kind = "json" | "yaml" | "page";

const ALIASES: Readonly<Record<string, Kind | "negotiated">> = {
  "/docs": "negotiated",
  "/doc": "negotiated",
  "/openapi.json": "json",
  "/openapi.yaml": "yaml",
  "/doc.yaml": "yaml",
};
/** Links of the page are relative, so that a proxy may serve it below another path. */
const WITH_SLASH = "/docs/";
const PATH = "/docs";
const ASSETS = "/docs/assets/";
const EVENTS = "/docs/events";
const ALLOW = ["GET", "HEAD", "OPTIONS"];

/** `/docs` and its aliases. False: it is not for us. Spec 4.2, decisions 10. */
export function handleDocs(
  target: Target,
  asked: HttpExchange,
  context: RestContext,
  fail: (error: unknown) => void,
): boolean {
  const { docs } = context;
  const kind = ALIASES[target.path];
  const { request, response, requestId } = asked;
  if (context.livePages !== undefined && target.path === EVENTS && request.method === "GET") {
    context.livePages.add(response, requestId);
    return true;
  }
  if (docs === undefined || (kind === undefined && target.path !== WITH_SLASH && !target.path.startsWith(ASSETS)))
    return false;
  if (target.path === WITH_SLASH) {
    response.writeHead(308, { Location: "../docs", "X-Request-Id": requestId }).end();
    return true;
  }
  if (request.method === "OPTIONS") {
    sendOptions(asked, ALLOW, context);
    return true;
  }
  if (!ALLOW.includes(request.method ?? "")) throw new RequestFailure({ kind: "method-not-allowed", allow: ALLOW });
  answer(kind, target, asked, { docs, context }).catch(fail);
  return true;
}

interface Answering {
  readonly docs: Docs;
  readonly context: RestContext;
}

/** The page and its files say nothing of the project, and it asks for credentials itself: only the document is protected. */
async function answer(
  alias: Kind | "negotiated" | undefined,
  target: Target,
  asked: HttpExchange,
  { docs, context }: Answering,
): Promise<void> {
  if (alias === undefined) return await sendAsset(target, asked, { docs, context });
  const kind = alias === "negotiated" ? kindOf(target, asked.request.headers.accept) : alias;
  const { access, gate, service } = context;
  const auth = service.project.main.docs?.needsAuth === true ? access.auth : undefined;
  // The page, the document and a rejection share a path, so all of them name what any depends on.
  const { vary, isPrivate } = cachingRules({ auth, parameters: [] }, access.cors);
  asked.response.setHeader("Vary", vary);
  const headers = { "Cache-Control": isPrivate ? "private, no-cache" : "no-cache" };
  if (kind === "page") {
    const { html } = await docs.page();
    return await send(asked, { ...html, packed: packedOf(html) }, { ...pageHeaders, ...headers });
  }
  await checkAccess({ name: PATH, auth, rateLimit: auth === undefined ? undefined : access.rateLimit }, asked, gate);
  await send(asked, await docs.document(kind, serverOf(asked, access)), headers);
}

/** The URL of this service as the client wrote it. */
function serverOf({ request }: HttpExchange, { proxies }: RestContext["access"]): string {
  const { host, isSecure } = clientOf(request, proxies);
  return host !== undefined && hostName(host) !== undefined ? `${isSecure ? "https" : "http"}://${host}` : "/";
}

/** What is asked for by name, else what `Accept` likes best: a browser gets the page, everybody else JSON. */
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

async function sendAsset(target: Target, asked: HttpExchange, { docs, context }: Answering): Promise<void> {
  const { assets } = await docs.page();
  const asset = assets.find(({ path }) => path === target.path);
  if (asset === undefined) throw new RequestFailure({ kind: "not-found" });
  const vary = variesByOrigin(context.access.cors) ? "Accept-Encoding, Origin" : "Accept-Encoding";
  const headers = { ...pageHeaders, Vary: vary, "Cache-Control": "public, max-age=31536000, immutable" };
  await send(asked, { ...asset, packed: packedOf(asset) }, headers);
}

/** Files of the page are packed once. */
const packedAssets = new WeakMap<PageAsset, Sendable["packed"]>();

function packedOf(asset: PageAsset): Sendable["packed"] {
  const packed = packedAssets.get(asset) ?? new Map();
  packedAssets.set(asset, packed);
  return packed;
}

export interface Sendable {
  readonly body: Buffer;
  readonly hash: string;
  readonly contentType: string;
  /** As it was packed so far. */
  readonly packed: Map<Compressor, Promise<Uint8Array>>;
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

/** A browser that opens the service's own address is led to the page, where no endpoint is there. */
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
