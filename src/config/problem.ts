import { explained } from "../error-message.ts";

/** A position in a file, counted from 1. */
export interface Location {
  /** Relative to the working directory if it is inside, otherwise absolute. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** The path of a key in a file, such as `["request", 0, "field-name"]`. */
export type KeyPath = readonly (string | number)[];

/** The location of a key, possibly in an included file. For a missing key, that of its nearest parent. */
export type Locate = (path: KeyPath) => Location;

/** Reports a problem with the key at a path. */
export type Complain = (path: KeyPath, message: string) => void;

/** A problem in the project. */
export interface Problem {
  readonly severity: "error" | "warning";
  readonly location: Location;
  /** The key, such as `request[0].validators[0].type`. Empty for the whole file. */
  readonly path: string;
  /** The problem and its fix, separated by a semicolon. */
  readonly message: string;
  /** What a database's message means. Not for clients: it may list tables. */
  readonly explanation?: string | undefined;
  /** A security warning, which `--strict` turns into an error. */
  readonly security?: true;
}

/** `sqls/customers.yaml:7:13: request[0].validators[0].type: unknown type 'integer'; did you mean 'int'?` */
export function formatProblem({ severity, location, path, message, explanation }: Problem): string {
  const position = `${location.file}:${location.line}:${location.column}`;
  const label = severity === "warning" ? " warning:" : "";
  const text = explained(explanation, message);
  return path === "" ? `${position}:${label} ${text}` : `${position}:${label} ${path}: ${text}`;
}

/** Database messages may have several lines, but a problem must have one. */
export function oneLine(message: string): string {
  return message.trim().replace(/\s*\n\s*/g, " ");
}

/** Sorted by file and position. */
export function sortProblems(problems: readonly Problem[]): readonly Problem[] {
  return problems.toSorted(
    ({ location: a }, { location: b }) =>
      Number(a.file > b.file) - Number(a.file < b.file) || a.line - b.line || a.column - b.column,
  );
}

export function hasErrors(problems: readonly Problem[]): boolean {
  return problems.some(({ severity }) => severity === "error");
}
