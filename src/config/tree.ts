import type { KeyPath, Location, Problem } from "./problem.ts";

/** A file that was read, YAML or SQL. */
export interface SourceFile {
  /** As problems name it. */
  readonly file: string;
  /** Of YAML with the directives masked: as long as the file, line by line. */
  readonly text: string;
}

export interface Place {
  readonly source: SourceFile;
  readonly offset: number;
}

/** Where a value was written, and the key before it; a list entry is its own key. */
export interface Spot {
  readonly key: Place;
  readonly value: Place;
  readonly children: Map<string | number, Spot> | undefined;
  /** Environment values that went into this scalar. */
  readonly secrets: readonly string[];
}

/** Plain data without prototypes, scalars that are not strings as PlainScalar, with the position of every part. */
export interface Tree {
  readonly data: unknown;
  readonly spot: Spot;
}

/** A mapping of the data: made with a null prototype, so that `constructor` is a key like any other. */
export type Mapping = Record<string, unknown>;

export type Report = (problem: Problem) => void;

/** Replaces a value that could not be read. Its problem is reported already, and must not be reported twice. */
export const BROKEN: unique symbol = Symbol("a value with a problem of its own");

/** Replaces an include whose condition does not hold: the key counts as not written. */
export const SKIPPED: unique symbol = Symbol("a value that is not there");

export function isMapping(data: unknown): data is Mapping {
  return typeof data === "object" && data !== null && Object.getPrototypeOf(data) === null;
}

export function locationOf({ source, offset }: Place): Location {
  let line = 1;
  let start = 0;
  for (let end = source.text.indexOf("\n"); end >= 0 && end < offset; end = source.text.indexOf("\n", start)) {
    line++;
    start = end + 1;
  }
  return { file: source.file, line, column: offset - start + 1 };
}

/** The spot of a path, or of its nearest parent. */
export function spotAt(root: Spot, path: KeyPath): Spot {
  let spot = root;
  for (const step of path) {
    const child = spot.children?.get(step);
    if (child === undefined) return spot;
    spot = child;
  }
  return spot;
}

export function keyLocation(root: Spot, path: KeyPath): Location {
  return locationOf(spotAt(root, path).key);
}

export function valueLocation(root: Spot, path: KeyPath): Location {
  return locationOf(spotAt(root, path).value);
}

/** A block is found by its key, a scalar by itself. */
export function partLocation(root: Spot, path: KeyPath): Location {
  const spot = spotAt(root, path);
  return locationOf(spot.children === undefined ? spot.value : spot.key);
}

export function dataAt(data: unknown, path: KeyPath): unknown {
  let value = data;
  for (const step of path) {
    if (typeof step === "number") value = Array.isArray(value) ? value[step] : undefined;
    else value = isMapping(value) ? value[step] : undefined;
  }
  return value;
}

/** `request[0].field-name` */
function formatPath(path: KeyPath): string {
  return path.map((step, index) => (typeof step === "number" ? `[${step}]` : index === 0 ? step : `.${step}`)).join("");
}

/** Every environment value in a part of the tree. */
export function secretsIn(spot: Spot): readonly string[] {
  const nested = [...(spot.children?.values() ?? [])].flatMap(secretsIn);
  return [...spot.secrets, ...nested];
}

export function errorAt(location: Location, path: KeyPath, message: string): Problem {
  return { severity: "error", location, path: formatPath(path), message };
}

/** A warning of something unsafe: `--strict` makes an error of it. */
export function securityWarningAt(location: Location, path: KeyPath, message: string): Problem {
  return { ...warningAt(location, path, message), security: true };
}

export function warningAt(location: Location, path: KeyPath, message: string): Problem {
  return { severity: "warning", location, path: formatPath(path), message };
}
