import type { z } from "zod";
import { A_BOOLEAN, PlainScalar } from "../params/validators/scalars.ts";
import type { KeyPath } from "./problem.ts";
import { PARSING } from "./schema/blocks.ts";
import {
  BROKEN,
  dataAt,
  errorAt,
  isMapping,
  keyLocation,
  type Mapping,
  type Report,
  type Tree,
  valueLocation,
  warningAt,
} from "./tree.ts";

export interface ParsedTree<Value> {
  /** The output of the schema for the keys without problems. Undefined if a required key has a problem. */
  readonly value: Value | undefined;
  /** Top-level keys with a problem. In `value`, they have their defaults. */
  readonly broken: ReadonlySet<string>;
}

/** Checks a file against its schema and reports every problem. */
export function parseTree<Schema extends z.ZodType>(
  tree: Tree,
  schema: Schema,
  report: Report,
): ParsedTree<z.output<Schema>> {
  let parsed = schema.safeParse(tree.data, PARSING);
  while (!parsed.success && replaceBooleanWords(tree, parsed.error.issues, report))
    parsed = schema.safeParse(tree.data, PARSING);
  // No key is broken then: no schema accepts a BROKEN value.
  if (parsed.success) return { value: parsed.data, broken: new Set() };

  const broken = brokenKeys(tree.data);
  const valid: Mapping = Object.assign(Object.create(null), tree.data);
  for (const issue of parsed.error.issues) {
    const path = issue.path.filter((step) => typeof step !== "symbol");
    if (issue.code === "unrecognized_keys") {
      // One line per key.
      const messages = issue.message.split("\n");
      for (const [index, key] of issue.keys.entries()) {
        report(errorAt(keyLocation(tree.positions, [...path, key]), [...path, key], messages[index] ?? issue.message));
        if (path.length === 0) delete valid[key];
      }
    } else reportIssue(tree, { path, message: issue.message }, report);
    if (typeof path[0] === "string") broken.add(path[0]);
  }
  for (const key of broken) delete valid[key];
  return { value: schema.safeParse(valid, PARSING).data, broken };
}

/** YAML 1.1 and flAPI's parser read these words as booleans. */
const BOOLEAN_WORDS: ReadonlyMap<string, boolean> = new Map([
  ["yes", true],
  ["on", true],
  ["no", false],
  ["off", false],
]);

/** Replaces these words where a boolean is expected, with a warning. Returns whether it replaced any. */
function replaceBooleanWords(tree: Tree, issues: readonly z.core.$ZodIssue[], report: Report): boolean {
  let isReplaced = false;
  for (const { path: steps, message } of issues) {
    const path = steps.filter((step) => typeof step !== "symbol");
    const word = dataAt(tree.data, path);
    const value = typeof word === "string" ? BOOLEAN_WORDS.get(word.toLowerCase()) : undefined;
    const parent = dataAt(tree.data, path.slice(0, -1));
    const key = path.at(-1);
    if (value === undefined || key === undefined || !message.startsWith(`expected ${A_BOOLEAN},`)) continue;
    if (!isMapping(parent)) continue;
    parent[key] = new PlainScalar(value, String(value));
    report(warningAt(valueLocation(tree.positions, path), path, `'${word}' means ${value}; write ${value}`));
    isReplaced = true;
  }
  return isReplaced;
}

function reportIssue(
  tree: Tree,
  { path, message }: { readonly path: KeyPath; readonly message: string },
  report: Report,
): void {
  const value = dataAt(tree.data, path);
  if (value === BROKEN) return;
  if (value !== undefined) {
    report(errorAt(valueLocation(tree.positions, path), path, message));
    return;
  }
  const parent = dataAt(tree.data, path.slice(0, -1));
  if (parent === BROKEN) return;
  report(errorAt(keyLocation(tree.positions, path), path, `missing; ${message.replace(", found nothing", "")}`));
}

/** Top-level keys that contain a value whose problem is already reported. */
function brokenKeys(data: unknown): Set<string> {
  if (!isMapping(data)) return new Set();
  return new Set(Object.keys(data).filter((key) => containsBroken(data[key])));
}

function containsBroken(data: unknown): boolean {
  if (data === BROKEN) return true;
  if (Array.isArray(data)) return data.some(containsBroken);
  return isMapping(data) && Object.values(data).some(containsBroken);
}
