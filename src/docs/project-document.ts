import type { EndpointConfig, MainConfig } from "../config/project.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { Engines } from "../engines/engines.ts";
import { describeEndpoints } from "./describe-endpoint.ts";
import type { JsonObject } from "./json.ts";
import { type DocumentedEndpoint, openApiDocument } from "./openapi.ts";
import { type RenderedDocument, renderDocument } from "./render-document.ts";
import { type RowShape, UNKNOWN_ROWS } from "./row-shape.ts";

/** An open project to document. `endpoints` are those of `project`, compiled, in the same order. */
export interface DocumentSource extends Pick<Engines, "engineOf"> {
  readonly project: { readonly main: MainConfig; readonly endpoints: readonly EndpointConfig[] };
  readonly endpoints: readonly Endpoint[];
  /** Milliseconds. */
  readonly now: () => number;
  /** In `eider dev`, the path of the events that make the page reload. */
  readonly events?: string | undefined;
}

/** The cached document of a project. */
export interface ProjectDocument {
  /** The document as of now. May lack columns that are not known yet. */
  current(): Promise<RenderedDocument>;
}

/** How often unknown columns are described again, because a data source may be back or a cache filled. */
const RETRY_MS = 5_000;

export function openProjectDocument(source: DocumentSource): ProjectDocument {
  const { now } = source;
  const endpoints = routedEndpoints(source);
  const shapes = new Map<Endpoint, RowShape>();
  let rendered: RenderedDocument | undefined;
  let describedAt = 0;
  let describing: Promise<RenderedDocument> | undefined;

  async function describeUnknown(unknown: readonly Endpoint[]): Promise<RenderedDocument> {
    let hasChanged = rendered === undefined;
    for (const [endpoint, shape] of await describeEndpoints(unknown, source)) {
      hasChanged ||= shape.kind !== "unknown";
      shapes.set(endpoint, shape);
    }
    describedAt = now();
    const document =
      hasChanged || rendered === undefined
        ? renderDocument({ ...documentOf(source, shapes, []), ...eventsOf(source) })
        : rendered;
    rendered = document;
    return document;
  }

  return {
    async current() {
      if (describing !== undefined) return describing;
      const unknown = endpoints.filter((endpoint) => (shapes.get(endpoint) ?? UNKNOWN_ROWS).kind === "unknown");
      if (rendered !== undefined && (unknown.length === 0 || now() - describedAt < RETRY_MS)) return rendered;
      describing = describeUnknown(unknown).finally(() => {
        describing = undefined;
      });
      return describing;
    },
  };
}

function eventsOf({ events }: DocumentSource): JsonObject {
  return events === undefined ? {} : { "x-eider-events": events };
}

/** The current document, not cached. */
export async function describeProject(
  source: Omit<DocumentSource, "now">,
  servers: readonly string[],
): Promise<JsonObject> {
  return documentOf(source, await describeEndpoints(routedEndpoints(source), source), servers);
}

/** Endpoints that only MCP serves are not in the document. */
function routedEndpoints({ endpoints }: Pick<DocumentSource, "endpoints">): readonly Endpoint[] {
  return endpoints.filter(({ route }) => route !== undefined);
}

function documentOf(
  { project, endpoints }: Pick<DocumentSource, "project" | "endpoints">,
  shapes: ReadonlyMap<Endpoint, RowShape>,
  servers: readonly string[],
): JsonObject {
  const documented = endpoints.map((endpoint, index): DocumentedEndpoint => {
    const { summary, description, tags = [], deprecated = false } = project.endpoints[index] ?? {};
    return { endpoint, documentation: { summary, description, tags, deprecated }, rows: shapes.get(endpoint) };
  });
  return openApiDocument({ main: project.main, endpoints: documented, servers });
}
