import type { Complain, KeyPath } from "./problem.ts";
import {
  errorAt,
  keyLocation,
  partLocation,
  type Report,
  type Spot,
  securityWarningAt,
  spotAt,
  warningAt,
} from "./tree.ts";

/** Reports problems with the keys of one file, or of one block of it. */
export interface Reporter {
  /** Shows the value; for a block or a missing key, the key. */
  readonly error: Complain;
  /** Shows the key. */
  readonly keyError: Complain;
  readonly warning: Complain;
  /** A warning of something unsafe: `--strict` makes an error of it. */
  readonly insecure: Complain;
  /** False for a key that has its default. */
  isWritten(path: KeyPath): boolean;
  /** The path of a list's entry. A single entry may be written without brackets: it has the path of its key. */
  entryOf(path: KeyPath, index: number | undefined): KeyPath;
}

export function reporterOf(root: Spot, report: Report, block: KeyPath = []): Reporter {
  const complain =
    (problemAt: typeof errorAt, locate: typeof keyLocation): Complain =>
    (path, message) => {
      const whole = [...block, ...path];
      report(problemAt(locate(root, whole), whole, message));
    };
  return {
    error: complain(errorAt, partLocation),
    keyError: complain(errorAt, keyLocation),
    warning: complain(warningAt, keyLocation),
    insecure: complain(securityWarningAt, keyLocation),
    isWritten(path) {
      const parent = spotAt(root, [...block, ...path.slice(0, -1)]);
      const [last = ""] = path.slice(-1);
      return parent.children?.has(last) === true;
    },
    entryOf(path, index) {
      const isList = spotAt(root, [...block, ...path]).children !== undefined;
      return index === undefined || !isList ? path : [...path, index];
    },
  };
}
