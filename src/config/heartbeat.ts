import { type PageRules, pageFields } from "../params/page.ts";
import { headerName, type Parameter, type RawParams, type RawValue } from "../params/parameter.ts";
import { validateParams } from "../params/validate-params.ts";
import type { Complain } from "./problem.ts";
import type { EndpointInput } from "./schema/endpoint.ts";
import { unknownMessage } from "./suggest.ts";

/** The parameters of regular runs, as a client would send them. */
export interface HeartbeatConfig {
  readonly raw: RawParams;
}

export interface HeartbeatRules {
  readonly operation: "read" | "write";
  /** Undefined if they have problems. */
  readonly parameters: readonly Parameter[] | undefined;
  readonly page: PageRules;
  /** Whether the main file enables heartbeats. */
  readonly isOn: boolean;
  readonly complain: Complain;
  readonly warn: Complain;
  /** Reports a parameter that is not declared. flAPI needs no declaration, and its users share heartbeats between endpoints. */
  readonly reportUnknown: Complain;
}

/** Compiles the heartbeat of an endpoint. Its values are validated like those of a request. */
export function compileHeartbeat(input: EndpointInput, rules: HeartbeatRules): HeartbeatConfig | undefined {
  const { heartbeat } = input;
  if (heartbeat?.enabled !== true) return undefined;
  const { operation, parameters, isOn, complain, warn } = rules;
  const path = ["heartbeat"];
  if (operation === "write") {
    complain(path, "a heartbeat never runs a write endpoint; move it to a read endpoint, or remove it");
    return undefined;
  }
  if (input["mcp-prompt"] !== undefined) {
    complain(path, "a prompt runs no SQL, so there is nothing to run; remove it");
    return undefined;
  }
  if (!isOn)
    warn(path, "never run, since the configuration file has no heartbeat; write 'heartbeat: {}' there, or remove this");
  if (parameters === undefined) return undefined;
  const values = new Map(Object.entries(heartbeat.params));
  const raw = rawOf(values, parameters, rules.reportUnknown);
  const checked = validateParams(parameters, raw, {
    rejectsUnknown: false,
    enforcedEnums: undefined,
    page: rules.page,
  });
  for (const { field, message } of checked.ok ? [] : checked.errors) {
    if (values.has(field)) complain([...path, "params", field], message);
    else complain(path, `the parameter '${field}': ${message}; give it a value under params`);
  }
  return { raw };
}

function rawOf(
  values: ReadonlyMap<string, string>,
  parameters: readonly Parameter[],
  reportUnknown: Complain,
): HeartbeatConfig["raw"] {
  const raw = {
    query: new Map<string, RawValue>(),
    path: new Map<string, RawValue>(),
    header: new Map<string, RawValue>(),
    body: new Map<string, RawValue>(),
  };
  const known = [...new Set([...parameters.map(({ name }) => name), ...pageFields])];
  for (const [name, text] of values) {
    const { in: location = "query" } = parameters.find((parameter) => parameter.name === name) ?? {};
    if (known.includes(name))
      raw[location].set(location === "header" ? headerName(name) : name, { kind: "text", text });
    else reportUnknown(["heartbeat", "params", name], unknownMessage("parameter", name, known));
  }
  return raw;
}
