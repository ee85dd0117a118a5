import type { EndpointConfig, KeyPath } from "./project.ts";
import type { ConnectionInput } from "./schema/connections.ts";
import type { EndpointInput } from "./schema/endpoint.ts";
import type { MainInput } from "./schema/main.ts";
import type { Spot } from "./tree.ts";

/**
 * Parts of the contract whose issue has not landed. Each issue removes its line. They add to the service, so they are only
 * mentioned.
 */
const mainFeatures: readonly KeyPath[] = [];

/** Keys of every connection. */
const connectionFeatures: readonly (keyof ConnectionInput)[] = [];

const endpointFeatures: readonly (readonly [string, (input: EndpointInput, config: EndpointConfig) => boolean])[] = [];

/** A file that was parsed, for looking at what it configures. */
export interface ParsedInput<Input> {
  readonly file: string;
  readonly input: Input;
  readonly spot: Spot;
}

export interface ParsedEndpoint extends ParsedInput<EndpointInput> {
  readonly config: EndpointConfig;
}

/** One line per feature that is configured and does nothing yet. */
export function inactiveFeatures(
  main: ParsedInput<MainInput>,
  endpoints: readonly ParsedEndpoint[],
): readonly string[] {
  const lines = mainFeatures
    .filter((path) => isOn(at(main.input, path)))
    .map((path) => `${path.join(".")} (${main.file})`);
  for (const key of connectionFeatures) {
    const connections = Object.values(main.input.connections ?? {});
    if (connections.some((connection) => isOn(connection[key]))) lines.push(`connections.*.${key} (${main.file})`);
  }
  for (const [name, uses] of endpointFeatures) {
    const files = endpoints.filter(({ input, config }) => uses(input, config)).map(({ file }) => file);
    const [first, ...rest] = files;
    if (first !== undefined) lines.push(`${name} (${rest.length === 0 ? first : `${first} and ${rest.length} more`})`);
  }
  return lines;
}

/** A block that is present is on unless it says `enabled: false`. */
function isOn(block: unknown): boolean {
  if (block === undefined || block === false) return false;
  return !(typeof block === "object" && block !== null && "enabled" in block && block.enabled === false);
}

function at(input: object, path: KeyPath): unknown {
  let value: unknown = input;
  for (const step of path) {
    value =
      typeof value === "object" && value !== null ? Object.getOwnPropertyDescriptor(value, step)?.value : undefined;
  }
  return value;
}
