/** What became of a text that was sent. */
export type Outcome =
  | { readonly kind: "rows"; readonly rows: readonly unknown[] }
  | { readonly kind: "refused"; readonly errors: readonly { readonly field: string; readonly message: string }[] }
  | { readonly kind: "broken"; readonly what: string };

/** An endpoint that a sender can reach. */
export interface Target {
  readonly name: string;
  readonly does: "read" | "write";
  /** Further lines of its YAML. */
  readonly yaml: string;
  /** The fields that carry the text, each with its `validators` in YAML, or the empty text for none. */
  readonly fields: Readonly<Record<string, string>>;
}

/** One way for a text to reach a template. */
export interface Sender {
  readonly name: string;
  readonly surface: "rest" | "mcp";
  /** The names of its targets, where another sender has tried the rest with the same code. Absent: all. */
  readonly only?: readonly string[];
  /** What templates call the text. */
  readonly variable: (field: string) => string;
  /** Whether one call carries one text in several fields, each with validators of its own. */
  readonly hasFields: boolean;
  /** The endpoint's YAML, without its template. */
  readonly declare: (target: Target) => string;
  /** False for a text that this way has no room for: there it would be malformed. */
  readonly carries: (text: string) => boolean;
  /** `url` is that of the surface. */
  readonly send: (url: string, target: Target, text: string) => Promise<Outcome>;
}

export const params = (field: string): string => `params.${field}`;

export const methodOf = ({ does }: Target): string => (does === "read" ? "GET" : "POST");

/** The lines of an endpoint's YAML that do not say where it is found. */
export function declaredFields(target: Target, location: string, method = methodOf(target)): string {
  const fields = Object.entries(target.fields).map(
    ([field, validators]) =>
      `  - { field-name: ${field}, field-in: ${location}${validators === "" ? "" : `, validators: ${validators}`} }\n`,
  );
  const operation = target.does === "read" ? "{ type: Read }" : "{ type: Write, returns-data: true }";
  const request = fields.length === 0 ? "" : `request:\n${fields.join("")}`;
  return `method: ${method}\noperation: ${operation}\nconnection: [memory]\n${target.yaml}${request}`;
}
