import type { KeyPath } from "./problem.ts";
import { errorAt, isMapping, keyLocation, type Mapping, type Report, type Spot, type Tree, warningAt } from "./tree.ts";

/** What is said and done about a key that the schema does not have. `at` is its path, `*` standing for any name or entry. */
export type KeyRule =
  /** A key of the flAPI dialect that has no meaning here. */
  | { readonly at: string; readonly kind: "ignored"; readonly why: string }
  /** Another spelling of a key. */
  | { readonly at: string; readonly kind: "renamed"; readonly to: string; readonly quiet?: true }
  /** A key that people write for something else. */
  | { readonly at: string; readonly kind: "mistake"; readonly message: string };

/** Takes the keys of the rules out of the tree, or renames them, and reports each. */
export function applyKeyRules(tree: Tree, rules: readonly KeyRule[], report: Report): void {
  for (const rule of rules) {
    const steps = stepsOf(rule);
    if (tree.spot.children?.has(steps[0] ?? "") !== true) continue;
    visit(tree, { steps, path: [] }, (parent, spot, path) =>
      applyRule(rule, { parent, spot, path, root: tree.spot }, report),
    );
  }
}

const splitPaths = new WeakMap<KeyRule, readonly string[]>();

/** Split once, not once per file. */
function stepsOf(rule: KeyRule): readonly string[] {
  const known = splitPaths.get(rule);
  if (known !== undefined) return known;
  const steps = rule.at.split(".");
  splitPaths.set(rule, steps);
  return steps;
}

interface Match {
  readonly parent: Mapping;
  readonly spot: Spot;
  readonly path: KeyPath;
  readonly root: Spot;
}

function applyRule(rule: KeyRule, { parent, spot, path, root }: Match, report: Report): void {
  const key = String(path.at(-1));
  const location = keyLocation(root, path);
  const child = spot.children?.get(key);
  const value = parent[key];
  delete parent[key];
  spot.children?.delete(key);
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
      if (child !== undefined) spot.children?.set(rule.to, child);
  }
}

interface Way {
  readonly steps: readonly string[];
  readonly path: KeyPath;
}

function visit(
  { data, spot }: Tree,
  { steps, path }: Way,
  found: (parent: Mapping, spot: Spot, path: KeyPath) => void,
): void {
  const [step, ...rest] = steps;
  if (step === undefined) return;
  if (step === "*") {
    for (const [name, child] of spot.children ?? []) {
      const value = Array.isArray(data) ? data[Number(name)] : isMapping(data) ? data[name] : undefined;
      visit({ data: value, spot: child }, { steps: rest, path: [...path, name] }, found);
    }
    return;
  }
  if (!isMapping(data) || !Object.hasOwn(data, step)) return;
  const child = spot.children?.get(step);
  if (rest.length === 0) found(data, spot, [...path, step]);
  else if (child !== undefined) visit({ data: data[step], spot: child }, { steps: rest, path: [...path, step] }, found);
}
