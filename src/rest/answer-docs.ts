import { type DocsPage, openDocsPage, pageHeaders } from "../docs/page-assets.ts";
import { type DocumentSource, openProjectDocument, type ProjectDocument } from "../docs/project-document.ts";
import { RequestFailure } from "../failure.ts";
import { clientOf } from "../http/forwarded.ts";
import { hostName } from "../http/https-only.ts";
import { admit } from "./admit.ts";
import { hasCurrent } from "./answer/if-none-match.ts";
import { tagOf } from "./answer/whole-answer.ts";
import { parseMediaRanges } from "./negotiation/media-ranges.ts";
import type { Target } from "./read-params/target.ts";
import type { RestContext } from "./rest-app.ts";
import { type Asked, sendOptions } from "./send-failure.ts";

/** The documentation of a service, made when somebody asks for it. */
export interface Docs {
  readonly document: ProjectDocument;
  page(): Promise<DocsPage>;
}

export function openDocs(source: Omit<DocumentSource, "now">, now: () => Date): Docs {
  let page: Promise<DocsPage> | undefined;
  return {
    document: openProjectDocument({ ...source, now: () => now().getTime() }),
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
const ALLOW = ["GET", "HEAD", "OPTIONS"];

/** `/docs` and its aliases. False: it is not for us. Spec 4.2, decisions 10. */
export function answerDocs(
  target: Target,
  asked: Asked,
  context: RestContext,
  fail: (error: unknown) => void,
): boolean {
  const { docs } = context;
  const kind = ALIASES[target.path];
  if (docs === undefined || (kind === undefined && target.path !== WITH_SLASH && !target.path.startsWith(ASSETS)))
    return false;
  const { request, response, requestId } = asked;
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
  asked: Asked,
  { docs, context }: Answering,
): Promise<void> {
  if (alias === undefined) return await sendAsset(target, asked, docs);
  const kind = alias === "negotiated" ? kindOf(target, asked.request.headers.accept) : alias;
  if (kind === "page") {
    const { html } = await docs.page();
    return send(asked, { ...html, headers: { ...pageHeaders, Vary: "Accept", "Cache-Control": "no-cache" } });
  }
  const { protections, gate, service } = context;
  const auth = service.project.main.docs?.needsAuth === true ? protections.auth : undefined;
  await admit({ name: PATH, auth, rateLimit: auth === undefined ? undefined : protections.rateLimit }, asked, gate);
  await sendDocument(kind, asked, { docs, context });
}

async function sendDocument(kind: "json" | "yaml", asked: Asked, { docs, context }: Answering): Promise<void> {
  const { request } = asked;
  const { host, isSecure } = clientOf(request, context.protections.proxies);
  const server = host !== undefined && hostName(host) !== undefined ? `${isSecure ? "https" : "http"}://${host}` : "/";
  const document = await docs.document.current();
  const body = Buffer.from(kind === "json" ? document.json(server) : document.yaml(server));
  const hash = tagOf(body);
  const contentType = kind === "json" ? "application/json" : "application/yaml";
  send(asked, { body, hash, contentType, headers: { Vary: "Accept", "Cache-Control": "no-cache" } });
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

async function sendAsset(target: Target, asked: Asked, docs: Docs): Promise<void> {
  const { assets } = await docs.page();
  const asset = assets.find(({ path }) => path === target.path);
  if (asset === undefined) throw new RequestFailure({ kind: "not-found" });
  send(asked, { ...asset, headers: { ...pageHeaders, "Cache-Control": "public, max-age=31536000, immutable" } });
}

interface Sent {
  readonly body: Buffer;
  readonly hash: string;
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>>;
}

function send({ request, response, requestId }: Asked, { body, hash, contentType, headers }: Sent): void {
  const common = { ...headers, ETag: `"${hash}"`, "X-Request-Id": requestId };
  if (hasCurrent(request.headers["if-none-match"], hash)) {
    response.writeHead(304, common).end();
    return;
  }
  response.writeHead(200, { ...common, "Content-Type": contentType, "Content-Length": body.length });
  response.end(request.method === "HEAD" ? undefined : body);
}

/** A browser that opens the service's own address is led to the page, where no endpoint is there. */
export function leadToDocs(target: Target, { request, response, requestId }: Asked, { docs }: RestContext): boolean {
  if (docs === undefined || target.path !== "/" || (request.method !== "GET" && request.method !== "HEAD"))
    return false;
  if (kindOf({ path: "/", query: "" }, request.headers.accept) !== "page") return false;
  response.writeHead(302, { Location: "docs", "Cache-Control": "no-store", "X-Request-Id": requestId }).end();
  return true;
}
