import { type DocsPage, openDocsPage } from "../docs/page-assets.ts";
import { type DocumentSource, openProjectDocument } from "../docs/project-document.ts";
import type { Compressor } from "./response/compressors.ts";
import { tagOf } from "./response/whole-response.ts";

/** The path from which pages receive changes in `eider dev`. */
export const EVENTS_PATH = "/docs/events";

/** The documentation of a service, generated on demand. */
export interface Docs {
  /** The document, with the URL by which the client reached the service. */
  document(kind: "json" | "yaml", server: string): Promise<Sendable>;
  page(): Promise<DocsPage>;
}

export interface DocsOptions {
  readonly now: () => Date;
  /** Whether the page receives changes. */
  readonly isLive: boolean;
}

export function openDocs(source: Omit<DocumentSource, "now" | "events">, { now, isLive }: DocsOptions): Docs {
  let page: Promise<DocsPage> | undefined;
  const events = isLive ? EVENTS_PATH.slice(1) : undefined;
  const project = openProjectDocument({ ...source, now: () => now().getTime(), events });
  const last: Partial<Record<"json" | "yaml", Sendable & { readonly text: string }>> = {};
  return {
    async document(kind, server) {
      const rendered = await project.current();
      const text = kind === "json" ? rendered.json(server) : rendered.yaml(server);
      // The text rarely changes, so its bytes, its tag and its compressed forms are computed once.
      const known = last[kind];
      if (known?.text === text) return known;
      const body = Buffer.from(text);
      const contentType = kind === "json" ? "application/json" : "application/yaml";
      const made = { text, body, hash: tagOf(body), contentType, compressedBodies: new Map() };
      last[kind] = made;
      return made;
    },
    page() {
      page ??= openDocsPage();
      return page;
    },
  };
}

/** A whole body, with what its headers need. */
export interface Sendable {
  readonly body: Buffer;
  readonly hash: string;
  readonly contentType: string;
  /** The compressed bodies so far. */
  readonly compressedBodies: Map<Compressor, Promise<Uint8Array>>;
}
