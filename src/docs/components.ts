import type { JsonObject } from "./json.ts";

const SECTIONS = ["schemas", "parameters", "headers", "responses", "securitySchemes"] as const;
type Section = (typeof SECTIONS)[number];

/** Components that operations refer to. Each is added on first use. */
export interface Components {
  /** A reference to the schema with this name. `make` is called on first use. */
  schema(name: string, make: () => JsonObject): JsonObject;
  parameter(name: string, make: () => JsonObject): JsonObject;
  header(name: string, make: () => JsonObject): JsonObject;
  response(name: string, make: () => JsonObject): JsonObject;
  /** Security schemes are referenced by their plain name. */
  securityScheme(name: string, make: () => JsonObject): string;
  /** All components, in a fixed order, so that the same project has the same document. */
  all(): JsonObject;
}

export function openComponents(): Components {
  const sections = new Map<Section, Map<string, JsonObject>>(SECTIONS.map((section) => [section, new Map()]));

  function add(section: Section, name: string, make: () => JsonObject): void {
    const known = sections.get(section);
    if (known === undefined || known.has(name)) return;
    const made = make();
    known.set(name, made);
  }

  const refer =
    (section: Section) =>
    (name: string, make: () => JsonObject): JsonObject => {
      add(section, name, make);
      return { $ref: `#/components/${section}/${name}` };
    };

  return {
    schema: refer("schemas"),
    parameter: refer("parameters"),
    header: refer("headers"),
    response: refer("responses"),
    securityScheme(name, make) {
      add("securitySchemes", name, make);
      return name;
    },
    all() {
      const filled = [...sections].filter(([, named]) => named.size > 0);
      return Object.fromEntries(
        filled.map(([section, named]) => [section, Object.fromEntries([...named].sort(byName))]),
      );
    },
  };
}

function byName([left]: readonly [string, unknown], [right]: readonly [string, unknown]): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
