import type { CallObserver, ObservedCall } from "../calls/observed-call.ts";
import type { Location } from "../config/problem.ts";
import type { EndpointConfig } from "../config/project.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { Report } from "../events.ts";
import type { Failure } from "../failure.ts";
import { headerName, type Parameter } from "../params/parameter.ts";
import type { Service } from "../service/service.ts";
import { failuresInTemplate, failuresOf, sectionsOf, validatedParameters } from "./coverage-items.ts";
import { labelsOf } from "./endpoint-labels.ts";

export const coverageKinds = ["endpoints", "template sections", "validators", "declared failures"] as const;
export type CoverageKind = (typeof coverageKinds)[number];

/** Something that a test should make happen at least once. */
export interface CoverageItem {
  readonly kind: CoverageKind;
  readonly location: Location;
  /** What no test has made happen. */
  readonly missing: string;
  readonly isCovered: boolean;
}

/** What the tests have made happen, in all services that they used. */
export interface Coverage {
  observe(service: Service): CallObserver;
  readonly onEvent: Report;
  /** The items of these endpoint files. */
  items(files: ReadonlySet<string>): readonly CoverageItem[];
}

interface Entry extends Omit<CoverageItem, "isCovered"> {
  readonly file: string;
}

export function openCoverage(): Coverage {
  const entries = new Map<string, Entry>();
  const covered = new Set<string>();
  let endpoints: ReadonlyMap<string, Endpoint> = new Map();

  function declare(endpoint: Endpoint, config: EndpointConfig, mcpAuth: boolean): void {
    const { name, file } = endpoint;
    // Only a test can call them, by `endpoint` or `tool`.
    if (endpoint.route === undefined && endpoint.mcp?.kind !== "tool") return;
    const add = (kind: CoverageKind, key: string, location: Location, missing: string): void => {
      entries.set(`${name}\n${key}`, { kind, file, location, missing });
    };
    add("endpoints", "", config.locate([]), `no test calls ${name}`);
    for (const { key, location, text, isOptional, isPossible } of sectionsOf(endpoint, mcpAuth)) {
      if (isPossible) add("template sections", `${key} with`, location, `${text} is never rendered`);
      if (isOptional) add("template sections", `${key} without`, location, `${text} is never left out`);
    }
    for (const { parameter, index, isRequired, validators } of validatedParameters(endpoint)) {
      const at = ["request", index];
      if (isRequired) {
        const location = config.locate([...at, "required"]);
        add("validators", `${parameter.name} required`, location, `'${parameter.name}' is never missing`);
      }
      for (const position of validators) {
        const type = parameter.validators[position]?.type;
        const location = config.locate([...at, "validators", position]);
        const missing = `the validator '${type}' of '${parameter.name}' never rejects a value`;
        add("validators", `${parameter.name} ${position}`, location, missing);
      }
    }
    for (const { key, text, location } of failuresOf(endpoint, config))
      add("declared failures", key, location, `${text} never happens`);
  }

  function cover({ name }: Endpoint, key: string): void {
    covered.add(`${name}\n${key}`);
  }

  function onEnd(call: ObservedCall, status: number): void {
    const endpoint = endpoints.get(call.endpoint);
    if (endpoint === undefined) return;
    cover(endpoint, "");
    const { query } = call.marks ?? {};
    if (query !== undefined) {
      for (const { key, around, ref, isInverted } of sectionsOf(endpoint, true)) {
        const isReached = around.every((outer) => query.isSet(outer.ref) !== outer.isInverted);
        if (isReached) cover(endpoint, `${key} ${query.isSet(ref) === isInverted ? "without" : "with"}`);
      }
    }
    if (status === 400 && call.raw !== undefined) {
      for (const { parameter } of validatedParameters(endpoint)) {
        const rejected = rejectedBy(parameter, call.raw);
        if (rejected !== undefined) cover(endpoint, `${parameter.name} ${rejected}`);
      }
    }
  }

  return {
    observe({ endpoints: served, project }) {
      const mcpAuth = project.main.mcp?.auth !== undefined;
      for (const [index, endpoint] of served.entries()) {
        const config = project.endpoints[index];
        if (config !== undefined) declare(endpoint, config, mcpAuth);
      }
      endpoints = new Map(served.flatMap((endpoint) => labelsOf(endpoint).map((label) => [label, endpoint] as const)));
      return { needsParameters: true, onEnd: (call, { status }) => onEnd(call, status) };
    },
    onEvent(event) {
      if (event.kind !== "call-failed") return;
      const endpoint = endpoints.get(event.endpoint);
      if (endpoint !== undefined) for (const key of failureKeys(endpoint, event.failure)) cover(endpoint, key);
    },
    items: (files) =>
      [...entries].flatMap(([key, { file, ...entry }]) =>
        files.has(file) ? [{ ...entry, isCovered: covered.has(key) }] : [],
      ),
  };
}

/** The validator that rejects the value in a request, by its index; or `required`. */
function rejectedBy(parameter: Parameter, raw: NonNullable<ObservedCall["raw"]>): string | undefined {
  const name = parameter.in === "header" ? headerName(parameter.name) : parameter.name;
  const text = raw[parameter.in].get(name)?.text ?? parameter.default;
  if (text === undefined) return parameter.required ? "required" : undefined;
  const position = parameter.validators.findIndex((validator) => !validator.check(text).ok);
  return position < 0 ? undefined : String(position);
}

function failureKeys(endpoint: Endpoint, failure: Failure): readonly string[] {
  switch (failure.kind) {
    case "no-row":
    case "nothing-changed":
    case "constraint-failed":
      return [failure.kind];
    case "refused-by-template": {
      const { status, message } = failure;
      return failuresInTemplate(endpoint)
        .filter((each) => each.status === status && message.includes(each.message))
        .map(({ key }) => key);
    }
    default:
      return [];
  }
}
