import { PlainScalar } from "../params/validators/scalars.ts";
import type { KeyPath } from "./problem.ts";
import {
  errorAt,
  isMapping,
  keyLocation,
  type Mapping,
  type NodePositions,
  type Report,
  type Tree,
  warningAt,
} from "./tree.ts";

/** How to handle a key that is not in the schema. `at` is its path, in which `*` matches any name or entry. */
export type KeyRule =
  /** A key of flAPI that Eider does not use. */
  | { readonly at: string; readonly kind: "ignored"; readonly why: string }
  /** Another spelling of a key. */
  | { readonly at: string; readonly kind: "renamed"; readonly to: string; readonly quiet?: true }
  /** Other spellings of a key's values. */
  | { readonly at: string; readonly kind: "renamed-value"; readonly values: Readonly<Record<string, string>> }
  /** A common mistake. */
  | { readonly at: string; readonly kind: "mistake"; readonly message: string };

/** Applies the rules to a file, and reports the keys that they match. */
export function applyKeyRules(tree: Tree, rules: readonly KeyRule[], report: Report): void {
  for (const rule of rules) {
    const steps = stepsOf(rule);
    if (tree.positions.children?.has(steps[0] ?? "") !== true) continue;
    visit(tree, { steps, path: [] }, (parent, positions, path) =>
      applyRule(rule, { parent, positions, path, root: tree.positions }, report),
    );
  }
}

const splitPaths = new WeakMap<KeyRule, readonly string[]>();

/** Cached, because rules are applied to every file. */
function stepsOf(rule: KeyRule): readonly string[] {
  const known = splitPaths.get(rule);
  if (known !== undefined) return known;
  const steps = rule.at.split(".");
  splitPaths.set(rule, steps);
  return steps;
}

interface Match {
  readonly parent: Mapping;
  readonly positions: NodePositions;
  readonly path: KeyPath;
  readonly root: NodePositions;
}

function applyRule(rule: KeyRule, { parent, positions, path, root }: Match, report: Report): void {
  const key = String(path.at(-1));
  const location = keyLocation(root, path);
  const child = positions.children?.get(key);
  const value = parent[key];
  if (rule.kind === "renamed-value") {
    const written = value instanceof PlainScalar ? value.source : value;
    const meant = typeof written === "string" && Object.hasOwn(rule.values, written) ? rule.values[written] : undefined;
    if (meant === undefined) return;
    report(warningAt(location, path, `'${written}' means '${meant}'; write '${meant}'`));
    parent[key] = meant;
    return;
  }
  delete parent[key];
  positions.children?.delete(key);
  switch (rule.kind) {
    case "ignored":
      report(warningAt(location, path, `'${key}' is ignored; ${rule.why}`));
      return;
    case "mistake":
      report(errorAt(location, path, rule.message));
      return;
    case "renamed":
      if (Object.hasOwn(parent, rule.to)) {
        report(errorAt(location, path, `'${key}' and '${rule.to}' mean the same; keep '${rule.to}'`));
        return;
      }
      if (rule.quiet === undefined)
        report(warningAt(location, path, `'${key}' means '${rule.to}'; write '${rule.to}'`));
      parent[rule.to] = value;
      if (child !== undefined) positions.children?.set(rule.to, child);
  }
}

interface RulePath {
  readonly steps: readonly string[];
  readonly path: KeyPath;
}

function visit(
  { data, positions }: Tree,
  { steps, path }: RulePath,
  onMatch: (parent: Mapping, positions: NodePositions, path: KeyPath) => void,
): void {
  const [step, ...rest] = steps;
  if (step === undefined) return;
  if (step === "*") {
    for (const [name, child] of positions.children ?? []) {
      const value = Array.isArray(data) ? data[Number(name)] : isMapping(data) ? data[name] : undefined;
      visit({ data: value, positions: child }, { steps: rest, path: [...path, name] }, onMatch);
    }
    return;
  }
  if (!isMapping(data) || !Object.hasOwn(data, step)) return;
  const child = positions.children?.get(step);
  if (rest.length === 0) onMatch(data, positions, [...path, step]);
  else if (child !== undefined)
    visit({ data: data[step], positions: child }, { steps: rest, path: [...path, step] }, onMatch);
}
