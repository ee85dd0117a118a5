import type { Complain, KeyPath } from "./problem.ts";
import {
  errorAt,
  keyLocation,
  type NodePositions,
  partLocation,
  positionsAt,
  type Report,
  securityWarningAt,
  warningAt,
} from "./tree.ts";

/** Reports problems in one file, or in one block of it. */
export interface Reporter {
  /** Located at the value; for a block, at its key; for a missing key, at the nearest parent. */
  readonly error: Complain;
  /** Located at the key. */
  readonly keyError: Complain;
  readonly warning: Complain;
  /** A security warning, which `--strict` turns into an error. */
  readonly securityWarning: Complain;
  /** Whether the key is in the file. False if only its default applies. */
  isWritten(path: KeyPath): boolean;
  /** The path of a list entry. For a single value instead of a list, the path of its key. */
  entryPath(path: KeyPath, index: number | undefined): KeyPath;
}

export function reporterOf(root: NodePositions, report: Report, block: KeyPath = []): Reporter {
  const complain =
    (problemAt: typeof errorAt, locate: typeof keyLocation): Complain =>
    (path, message) => {
      const fullPath = [...block, ...path];
      report(problemAt(locate(root, fullPath), fullPath, message));
    };
  return {
    error: complain(errorAt, partLocation),
    keyError: complain(errorAt, keyLocation),
    warning: complain(warningAt, keyLocation),
    securityWarning: complain(securityWarningAt, keyLocation),
    isWritten(path) {
      const parent = positionsAt(root, [...block, ...path.slice(0, -1)]);
      const [last = ""] = path.slice(-1);
      return parent.children?.has(last) === true;
    },
    entryPath(path, index) {
      const isList = positionsAt(root, [...block, ...path]).children !== undefined;
      return index === undefined || !isList ? path : [...path, index];
    },
  };
}
