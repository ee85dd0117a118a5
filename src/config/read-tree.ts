import { openAliases } from "./aliases.ts";
import { containsToken, type Include, splitText, unmask } from "./directives.ts";
import type { Environment } from "./environment.ts";
import type { KeyPath } from "./problem.ts";
import { malformedMessage, readScalar } from "./read-scalar.ts";
import {
  BROKEN,
  errorAt,
  isMapping,
  locationOf,
  type Mapping,
  type NodePositions,
  type Report,
  SKIPPED,
  type SourcePosition,
  type Tree,
  warningAt,
} from "./tree.ts";
import type { YamlFile } from "./yaml-file.ts";
import type { YamlAlias, YamlList, YamlMap, YamlNode, YamlPair, YamlScalar } from "./yaml-node.ts";

const MAX_DEPTH = 64;

export interface ReadContext {
  readonly environment: Environment;
  readonly report: Report;
  /** Resolves an include for the key at `path`. Its data may be BROKEN or SKIPPED. */
  include(include: Include, at: SourcePosition, path: KeyPath): Tree;
}

/** A top-level entry, read on demand, because entries that are not included may use variables that are not set. */
export type Entry =
  | { readonly kind: "key"; readonly name: string; readonly at: SourcePosition; read(path: KeyPath): Tree }
  | { readonly kind: "include"; readonly include: Include; readonly at: SourcePosition };

/** The top-level entries of a file, in order. Merged entries come last, because written ones override them. */
export function readEntries(file: YamlFile, context: ReadContext): readonly Entry[] {
  const { source, directives } = file;
  const aliases = openAliases(file.root);
  /** The path of the current node. */
  let path: (string | number)[] = [];

  const positionAt = (offset: number): SourcePosition => ({ source, offset });

  function problem(offset: number, message: string): void {
    context.report(errorAt(locationOf(positionAt(offset)), path, message));
  }

  /** List entries have no key, so `keyPosition` is undefined. */
  function readNode(node: YamlNode, keyPosition: SourcePosition | undefined): Tree {
    const value = positionAt(node.start);
    const key = keyPosition ?? value;
    if (path.length > MAX_DEPTH) {
      const message = `nested more than ${MAX_DEPTH} levels deep; use fewer levels`;
      context.report(errorAt(locationOf(value), path.slice(0, 1), message));
      return leaf(BROKEN, key, value);
    }
    if (!aliases.count()) return leaf(BROKEN, key, value);
    switch (node.kind) {
      case "scalar":
        return readLeaf(node, key, value);
      case "alias":
        return readAlias(node, key, value);
      case "map":
        return readMap(node, key, value);
      case "list":
        return readList(node, key, value);
    }
  }

  function readStep(step: string | number, node: YamlNode, key: SourcePosition | undefined): Tree {
    const depth = path.length;
    path.push(step);
    const tree = readNode(node, key);
    path.length = depth;
    return tree;
  }

  function readList({ items }: YamlList, key: SourcePosition, value: SourcePosition): Tree {
    const data: unknown[] = [];
    const children = new Map<string | number, NodePositions>();
    for (const item of items) {
      const tree = readStep(data.length, item, undefined);
      if (tree.data === SKIPPED) continue;
      children.set(data.length, tree.positions);
      data.push(tree.data);
    }
    return { data, positions: { key, value, children, secrets: NO_SECRETS } };
  }

  function readAlias(node: YamlAlias, key: SourcePosition, value: SourcePosition): Tree {
    const followed = aliases.follow(node, (target) => readNode(target, key));
    if (followed.ok) return followed.result;
    if (followed.why !== undefined) problem(node.start, followed.why);
    return leaf(BROKEN, key, value);
  }

  function readLeaf(node: YamlScalar, key: SourcePosition, value: SourcePosition): Tree {
    const reading = readScalar(node, file, context.environment, path[0] === "mcp-prompt");
    switch (reading.kind) {
      case "value":
        warnAboutShellVariable(reading.data, value);
        return { data: reading.data, positions: { key, value, children: undefined, secrets: reading.secrets } };
      case "include": {
        const { data, positions } = context.include(reading.include, value, [...path]);
        return { data, positions: { ...positions, key } };
      }
      case "broken":
        for (const message of reading.messages) problem(value.offset, message);
        return leaf(BROKEN, key, value);
    }
  }

  function warnAboutShellVariable(data: unknown, value: SourcePosition): void {
    if (typeof data !== "string" || !/^\$[A-Z][A-Z0-9_]*$/.test(data)) return;
    const message = `'${data}' is taken literally; for the environment variable, write \${${data.slice(1)}}`;
    context.report(warningAt(locationOf(value), path, message));
  }

  function readMap(node: YamlMap, key: SourcePosition, value: SourcePosition): Tree {
    const data: Mapping = Object.create(null);
    const children = new Map<string | number, NodePositions>();
    const add = (name: string, tree: Tree) => {
      if (tree.data === SKIPPED || children.has(name)) return;
      data[name] = tree.data;
      children.set(name, tree.positions);
    };
    let merged: readonly MergedEntry[] = [];
    for (const pair of node.pairs) {
      if (isMergeKey(pair)) merged = [...merged, ...mergedEntries(pair)];
      else {
        const found = readKey(pair.key);
        if (found?.kind === "name") add(found.name, readStep(found.name, pair.value, positionAt(pair.key.start)));
        else if (found?.kind === "include") {
          problem(pair.key.start, "misplaced include; write it at the top level, or as the value of a key");
        }
      }
    }
    for (const { name, tree } of merged) add(name, tree);
    // With a key that is not a name, the mapping is unusable.
    const named = node.pairs.every((pair) => pair.key.kind === "scalar");
    return { data: named ? data : BROKEN, positions: { key, value, children, secrets: NO_SECRETS } };
  }

  function readKey(key: YamlNode): Key | undefined {
    if (key.kind !== "scalar") {
      const braces = source.text.startsWith("{{", key.start - 1);
      problem(key.start, braces ? "put quotes around a value with {{...}}" : "expected a name as the key");
      return undefined;
    }
    const raw = typeof key.value === "string" ? key.value : key.source;
    if (!containsToken(raw) && raw !== "__proto__") return { kind: "name", name: raw };
    const [first] = splitText(raw, directives);
    if (first?.kind === "include") return { kind: "include", include: first.include };
    const name = unmask(raw, directives);
    if (name !== "__proto__" && first?.kind !== "malformed") return { kind: "name", name };
    if (first?.kind === "malformed") problem(key.start, malformedMessage(name));
    else {
      path.push(name);
      problem(key.start, "unknown key '__proto__'; remove it");
      path.pop();
    }
    return undefined;
  }

  /** `<<: *name`, or a list of aliases, of which the first wins. */
  function mergedEntries(pair: YamlPair): readonly MergedEntry[] {
    const { data, positions } = readNode(pair.value, positionAt(pair.key.start));
    if (data === BROKEN) return [];
    const sources = Array.isArray(data)
      ? data.map((item, index) => ({ item, from: positions.children?.get(index) }))
      : [{ item: data, from: positions }];
    if (sources.some(({ item }) => !isMapping(item))) {
      problem(pair.key.start, "the merge key '<<' takes an alias of a mapping, or a list of them");
    }
    return sources.flatMap(({ item, from }) =>
      [...(from?.children ?? [])].flatMap(([name, child]): MergedEntry[] =>
        isMapping(item) && typeof name === "string" ? [{ name, tree: { data: item[name], positions: child } }] : [],
      ),
    );
  }

  const written: Entry[] = [];
  const merged: Entry[] = [];
  for (const pair of file.root.pairs) {
    const at = positionAt(pair.key.start);
    const found = isMergeKey(pair) ? undefined : readKey(pair.key);
    if (isMergeKey(pair)) {
      for (const { name, tree } of mergedEntries(pair))
        merged.push({ kind: "key", name, at: tree.positions.key, read: () => tree });
    } else if (found?.kind === "include") written.push({ kind: "include", include: found.include, at });
    else if (found?.kind === "name") {
      const read = (fullPath: KeyPath) => {
        path = [...fullPath];
        return readNode(pair.value, at);
      };
      written.push({ kind: "key", name: found.name, at, read });
    }
  }
  return [...written, ...merged];
}

type Key = { readonly kind: "name"; readonly name: string } | { readonly kind: "include"; readonly include: Include };

interface MergedEntry {
  readonly name: string;
  readonly tree: Tree;
}

const NO_SECRETS: readonly string[] = [];

function isMergeKey({ key }: YamlPair): boolean {
  return key.kind === "scalar" && key.style === "plain" && key.source === "<<";
}

export function leaf(data: unknown, key: SourcePosition, value: SourcePosition): Tree {
  return { data, positions: { key, value, children: undefined, secrets: NO_SECRETS } };
}
