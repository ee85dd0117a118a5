import { readdir, readFile } from "node:fs/promises";

/** A file of the page. Except for the HTML, its path changes with every version of the page, so browsers may cache it forever. */
export interface PageAsset {
  readonly path: string;
  readonly contentType: string;
  readonly body: Buffer;
  /** The hash of its bytes, for an ETag. */
  readonly hash: string;
}

export interface DocsPage {
  /** Its links are relative, so that a proxy may add a path prefix. Must be served at `/docs`, without a trailing slash. */
  readonly html: PageAsset;
  readonly assets: readonly PageAsset[];
}

const FOLDER = new URL("../../web/docs-page/", import.meta.url);

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
};

/**
 * The headers of the page. They allow scripts and styles only from this service, and requests only to it. With trusted types,
 * browsers reject any string used as HTML.
 */
export const pageHeaders: Readonly<Record<string, string>> = {
  "Content-Security-Policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; "),
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin",
};

/** Reads the files of the page at `/docs`. */
export async function openDocsPage(): Promise<DocsPage> {
  const names = (await readdir(FOLDER)).filter((name) => extensionOf(name) in CONTENT_TYPES).sort();
  const files = await Promise.all(names.map(async (name) => ({ name, body: await readFile(new URL(name, FOLDER)) })));
  const version = await hashOf(Buffer.concat(files.flatMap(({ name, body }) => [Buffer.from(`\0${name}\0`), body])));
  const folder = `docs/assets/${version}`;
  const assets: PageAsset[] = [];
  let html: PageAsset | undefined;
  for (const { name, body } of files) {
    if (name === "index.html")
      html = await assetOf("/docs", name, Buffer.from(linkAssets(body.toString(), names, folder)));
    else assets.push(await assetOf(`/${folder}/${name}`, name, body));
  }
  if (html === undefined) throw new Error(`${FOLDER.href} has no index.html`);
  return { html, assets };
}

async function assetOf(path: string, name: string, body: Buffer<ArrayBuffer>): Promise<PageAsset> {
  const contentType = CONTENT_TYPES[extensionOf(name)] ?? "application/octet-stream";
  return { path, contentType, body, hash: await hashOf(body) };
}

/** Points links to the folder of this version. Modules are preloaded, so that browsers fetch them in parallel. */
function linkAssets(html: string, names: readonly string[], folder: string): string {
  const modules = names.filter((name) => name.endsWith(".js") && name !== "theme-first.js");
  const preloads = modules.map((name) => `<link rel="modulepreload" href="assets/${name}">`).join("\n    ");
  return html.replace("<!-- modules -->", preloads).replaceAll('="assets/', `="${folder}/`);
}

function extensionOf(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1);
}

async function hashOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  return Buffer.from(digest).toString("hex").slice(0, 16);
}
