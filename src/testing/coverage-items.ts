import type { Location } from "../config/problem.ts";
import type { EndpointConfig } from "../config/project.ts";
import { locationOf } from "../config/tree.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { Parameter } from "../params/parameter.ts";
import type { CallValueRef, LiteralPart, Piece } from "../sql/template.ts";

export interface Section {
  /** The same in every service of the project. */
  readonly key: string;
  readonly ref: CallValueRef;
  readonly isInverted: boolean;
  /** The sections around it, outermost first. */
  readonly around: readonly Section[];
  readonly location: Location;
  /** As written. */
  readonly text: string;
  /** Whether a call can leave it out. */
  readonly isOptional: boolean;
  /** Whether a call can render it. */
  readonly isPossible: boolean;
}

/** The sections of a template whose value depends on the call. */
export function sectionsOf(endpoint: Endpoint, mcpAuth: boolean): readonly Section[] {
  const { template, source } = endpoint;
  const found: Section[] = [];
  if (template === undefined || source === undefined) return found;
  const locate = (offset: number): Location => locationOf({ source, offset });

  function walk(pieces: readonly (Piece | LiteralPart)[], around: readonly Section[], outerOffset: number): void {
    for (const piece of pieces) {
      const offset = "offset" in piece ? piece.offset : outerOffset;
      if (piece.kind === "literal" || piece.kind === "identifier") walk(piece.parts, around, offset);
      if (piece.kind !== "section") continue;
      const section = sectionOf(piece, around, offset);
      found.push(section);
      walk("pieces" in piece ? piece.pieces : piece.parts, [...around, section], offset);
    }
  }

  function sectionOf(
    { ref, inverted: isInverted }: Extract<Piece | LiteralPart, { kind: "section" }>,
    around: readonly Section[],
    offset: number,
  ): Section {
    const isSettable = canBeSet(ref, endpoint, mcpAuth);
    const isUnsettable = canBeUnset(ref, endpoint);
    return {
      key: `section ${found.length}`,
      ref,
      isInverted,
      around,
      location: locate(offset),
      text: `{{${isInverted ? "^" : "#"}${ref.scope}.${ref.name}}}`,
      isOptional: isInverted ? isSettable : isUnsettable,
      isPossible: isInverted ? isUnsettable : isSettable,
    };
  }

  walk(template.pieces, [], 0);
  // Eider itself decides about pages and snapshots.
  return found.filter(({ ref }) => ref.scope !== "cache" && !isPageField(ref, endpoint));
}

function isPageField({ scope, name }: CallValueRef, { parameters }: Endpoint): boolean {
  return scope === "params" && !parameters.some((parameter) => parameter.name === name);
}

function canBeSet({ scope }: CallValueRef, { auth, mcp }: Endpoint, mcpAuth: boolean): boolean {
  return scope !== "auth" || auth !== undefined || (mcp !== undefined && mcpAuth);
}

const SET_BY_AUTHENTICATION: ReadonlySet<string> = new Set(["authenticated", "type", "username"]);

function canBeUnset({ scope, name }: CallValueRef, { auth, parameters }: Endpoint): boolean {
  if (scope === "auth") return auth === undefined || !SET_BY_AUTHENTICATION.has(name);
  const parameter = parameters.find((each) => each.name === name);
  return parameter?.required !== true && parameter?.default === undefined;
}

/** A parameter that can be invalid. */
export interface ValidatedParameter {
  readonly parameter: Parameter;
  /** Its index in `request`. */
  readonly index: number;
  /** Whether a request without it is rejected. */
  readonly isRequired: boolean;
  /** The indexes of its validators that can reject a value. */
  readonly validators: readonly number[];
}

export function validatedParameters({ parameters, operation }: Endpoint): readonly ValidatedParameter[] {
  const isValidated = operation.kind === "read" || operation.validateBeforeWrite;
  return parameters.map((parameter, index) => ({
    parameter,
    index,
    // A request without a part of its path reaches another endpoint.
    isRequired: parameter.required && parameter.default === undefined && parameter.in !== "path",
    validators: isValidated
      ? parameter.validators.flatMap(({ jsonSchema }, position) => (acceptsAll(jsonSchema) ? [] : position))
      : [],
  }));
}

function acceptsAll(jsonSchema: Readonly<Record<string, unknown>>): boolean {
  return jsonSchema["type"] === "string" && Object.keys(jsonSchema).length === 1;
}

export interface DeclaredFailure {
  readonly key: string;
  readonly text: string;
  readonly location: Location;
}

/** The failures that the endpoint declares: `returns: one`, `http-status` and calls of `error` in its template. */
export function failuresOf(endpoint: Endpoint, config: EndpointConfig): readonly DeclaredFailure[] {
  const { operation } = endpoint;
  const declared: DeclaredFailure[] = [];
  if (operation.kind === "read" && operation.returns === "one") {
    declared.push({ key: "no-row", text: "404 (no row)", location: config.locate(["returns"]) });
  }
  if (operation.kind === "write") {
    const location = config.locate(["operation", "http-status"]);
    const { unchanged, constraintFailure } = operation.statuses;
    if (unchanged === 404) declared.push({ key: "nothing-changed", text: "404 (nothing changed)", location });
    if (constraintFailure === "client-error")
      declared.push({ key: "constraint-failed", text: "409 or 422 (constraint)", location });
  }
  const inTemplate = failuresInTemplate(endpoint).map(({ key, status, message, location }) => ({
    key,
    text: `error('${status}: ${message}')`,
    location,
  }));
  return [...declared, ...inTemplate];
}

interface TemplateFailure {
  readonly key: string;
  readonly status: number;
  /** Its beginning, if the template composes it. */
  readonly message: string;
  readonly location: Location;
}

const ERROR_CALL = /\berror\s*\(\s*'(\d{3}):\s*((?:[^'{]|'')*)/gi;

/** The statuses that a template returns by `error('403: not yours')`. */
export function failuresInTemplate({ source }: Endpoint): readonly TemplateFailure[] {
  if (source === undefined) return [];
  return [...source.text.matchAll(ERROR_CALL)].map(({ 1: status = "", 2: message = "", index }) => ({
    key: `error ${index}`,
    status: Number(status),
    message: message.replaceAll("''", "'").trim(),
    location: locationOf({ source, offset: index }),
  }));
}
