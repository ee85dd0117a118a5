import type { Files, TestService } from "../service.ts";

/**
 * An endpoint over the connection `memory`, from its method and path, its SQL and further YAML. The parameters of the
 * path are declared.
 */
export function route(target: string, sql: string, yaml = ""): Files {
  const [method = "", path = ""] = target.split(" ");
  const file = target.toLowerCase().replace(/[^a-z0-9]+/g, "-");
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => `  - { field-name: ${name}, field-in: path }\n`);
  const request = inPath.length > 0 && !yaml.includes("request:") ? `request:\n${inPath.join("")}` : "";
  return {
    [`${file}.yaml`]: `url-path: ${path}\nmethod: ${method}\ntemplate-source: ${file}.sql\nconnection: [memory]\nwith-pagination: false\n${yaml}${request}`,
    [`${file}.sql`]: sql,
  };
}

/** Body fields by name, each with further keys in flow style: `{ id: "required: true" }`. */
export function bodyFields(fields: Readonly<Record<string, string>>): string {
  const entries = Object.entries(fields).map(
    ([name, keys]) => `  - { field-name: ${name}, field-in: body${keys === "" ? "" : `, ${keys}`} }\n`,
  );
  return `request:\n${entries.join("")}`;
}

export const INT = "validators: [{ type: int }]";

/** A main file whose connection `memory` starts with this SQL. */
export function mainFile(init: string, more = ""): Files {
  return {
    "eider.yaml": `connections:\n  memory:\n    init: |\n      ${init.trim().replaceAll("\n", "\n      ")}\n${more}`,
  };
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

/** Sends a request; a body that is no text goes as JSON, a text as it is. */
export async function send(
  service: Pick<TestService, "url">,
  target: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const [method = "", path = ""] = target.split(" ");
  const json = body === undefined ? {} : { "Content-Type": "application/json" };
  const sent = body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) };
  const response = await fetch(service.url + path, { method, headers: { ...json, ...headers }, ...sent });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

/** Status and body, for looking at both at once. */
export async function outcome(...args: Parameters<typeof send>): Promise<readonly [number, unknown]> {
  const { status, text } = await send(...args);
  return [status, JSON.parse(text)];
}
