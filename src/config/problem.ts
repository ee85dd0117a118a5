/** A position in a file, counted from 1. */
export interface Location {
  /** As a person would type it: relative to the working directory where that is shorter. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** A key's path in a file: `["request", 0, "field-name"]`. */
export type KeyPath = readonly (string | number)[];

/** The location of a key: in the included file for what was included, of the nearest parent when the key is absent. */
export type Locate = (path: KeyPath) => Location;

/** Reports what is wrong with the key at a path. */
export type Complain = (path: KeyPath, message: string) => void;

/** Something wrong with the project, reported to its author. */
export interface Problem {
  readonly severity: "error" | "warning";
  readonly location: Location;
  /** The key that it is about, `request[0].validators[0].type`; empty for the file as a whole. */
  readonly path: string;
  /** What is wrong; what would be right. */
  readonly message: string;
  /** A warning of something unsafe, which --strict does not let pass. */
  readonly security?: true;
}

/** `sqls/customers.yaml:7:13: request[0].validators[0].type: unknown type 'integer'; did you mean 'int'?` */
export function formatProblem({ severity, location, path, message }: Problem): string {
  const place = `${location.file}:${location.line}:${location.column}`;
  const word = severity === "warning" ? " warning:" : "";
  return path === "" ? `${place}:${word} ${message}` : `${place}:${word} ${path}: ${message}`;
}

/** What a database says may have several lines; a problem has one. */
export function oneLine(message: string): string {
  return message.trim().replace(/\s*\n\s*/g, " ");
}

/** By file and position. */
export function inOrder(problems: readonly Problem[]): readonly Problem[] {
  return problems.toSorted(
    ({ location: a }, { location: b }) =>
      Number(a.file > b.file) - Number(a.file < b.file) || a.line - b.line || a.column - b.column,
  );
}

export function hasErrors(problems: readonly Problem[]): boolean {
  return problems.some(({ severity }) => severity === "error");
}
