import type { EndpointConfig } from "./project.ts";
import type { EndpointInput } from "./schema/endpoint.ts";
import type { Spot } from "./tree.ts";

/** A file that was parsed, for looking at what it configures. */
export interface ParsedInput<Input> {
  readonly file: string;
  readonly input: Input;
  readonly spot: Spot;
}

export interface ParsedEndpoint extends ParsedInput<EndpointInput> {
  readonly config: EndpointConfig;
}
