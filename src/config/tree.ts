import type { KeyPath, Location, Problem } from "./problem.ts";

/** A YAML or SQL file. */
export interface SourceFile {
  /** The path as shown in messages. */
  readonly file: string;
  /** In a YAML file, environment references and includes are replaced by tokens of the same length. */
  readonly text: string;
}

export interface SourcePosition {
  readonly source: SourceFile;
  readonly offset: number;
}

/** The positions of a value and its key, and of everything inside. A list entry has the same position for both. */
export interface NodePositions {
  readonly key: SourcePosition;
  readonly value: SourcePosition;
  readonly children: Map<string | number, NodePositions> | undefined;
  /** Environment values used in this scalar. */
  readonly secrets: readonly string[];
}

/** Data and its positions. Scalars that are not strings are PlainScalars. */
export interface Tree {
  readonly data: unknown;
  readonly positions: NodePositions;
}

/** Has a null prototype, so that `constructor` is a key like any other. */
export type Mapping = Record<string, unknown>;

export type Report = (problem: Problem) => void;

/** Replaces a value that could not be read. Its problem is already reported. */
export const BROKEN: unique symbol = Symbol("a value with a problem of its own");

/** Replaces an include whose condition is false. The key counts as absent. */
export const SKIPPED: unique symbol = Symbol("a value that is not there");

export function isMapping(data: unknown): data is Mapping {
  return typeof data === "object" && data !== null && Object.getPrototypeOf(data) === null;
}

export function locationOf({ source, offset }: SourcePosition): Location {
  let line = 1;
  let start = 0;
  for (let end = source.text.indexOf("\n"); end >= 0 && end < offset; end = source.text.indexOf("\n", start)) {
    line++;
    start = end + 1;
  }
  return { file: source.file, line, column: offset - start + 1 };
}

/** The positions of a path, or of its nearest parent. */
export function positionsAt(root: NodePositions, path: KeyPath): NodePositions {
  let positions = root;
  for (const step of path) {
    const child = positions.children?.get(step);
    if (child === undefined) return positions;
    positions = child;
  }
  return positions;
}

export function keyLocation(root: NodePositions, path: KeyPath): Location {
  return locationOf(positionsAt(root, path).key);
}

export function valueLocation(root: NodePositions, path: KeyPath): Location {
  return locationOf(positionsAt(root, path).value);
}

/** Where to report a problem of a value: at its key if it is a mapping or list, otherwise at the value itself. */
export function partLocation(root: NodePositions, path: KeyPath): Location {
  const positions = positionsAt(root, path);
  return locationOf(positions.children === undefined ? positions.value : positions.key);
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

/** All environment values in a part of the tree. */
export function secretsIn(positions: NodePositions): readonly string[] {
  const nested = [...(positions.children?.values() ?? [])].flatMap(secretsIn);
  return [...positions.secrets, ...nested];
}

export function errorAt(location: Location, path: KeyPath, message: string): Problem {
  return { severity: "error", location, path: formatPath(path), message };
}

/** A warning that `--strict` turns into an error. */
export function securityWarningAt(location: Location, path: KeyPath, message: string): Problem {
  return { ...warningAt(location, path, message), security: true };
}

export function warningAt(location: Location, path: KeyPath, message: string): Problem {
  return { severity: "warning", location, path: formatPath(path), message };
}
