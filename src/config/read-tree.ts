import { type Alias, isAlias, isMap, isScalar, type Pair, type ParsedNode, type Scalar, type YAMLMap } from "yaml";
import { PlainScalar } from "../params/validators/scalars.ts";
import { openAliases } from "./aliases.ts";
import { holdsToken, type Include, splitText, unmask } from "./directives.ts";
import type { Environment } from "./environment.ts";
import type { KeyPath } from "./project.ts";
import { malformed, readScalar } from "./read-scalar.ts";
import {
  BROKEN,
  errorAt,
  isMapping,
  locationOf,
  type Mapping,
  type Place,
  type Report,
  SKIPPED,
  type Spot,
  type Tree,
} from "./tree.ts";
import type { YamlFile } from "./yaml-file.ts";

const MAX_DEPTH = 64;

export interface ReadContext {
  readonly environment: Environment;
  readonly report: Report;
  /** What an include yields for the key at `path`: BROKEN and SKIPPED are among it. */
  include(include: Include, at: Place, path: KeyPath): Tree;
}

/** An entry of the top level, read when it is asked for: what nobody includes may name variables that nobody set. */
export type Entry =
  | { readonly kind: "key"; readonly name: string; readonly at: Place; read(path: KeyPath): Tree }
  | { readonly kind: "include"; readonly include: Include; readonly at: Place };

/** The entries of a file's top level, in order. Merged ones come last: what is written wins over them. */
export function readEntries(file: YamlFile, context: ReadContext): readonly Entry[] {
  const { source, directives } = file;
  const aliases = openAliases(file.root);
  const place = (offset: number): Place => ({ source, offset });

  function problem(offset: number, path: KeyPath, message: string): void {
    context.report(errorAt(locationOf(place(offset)), path, message));
  }

  function readNode(node: ParsedNode | null, key: Place, path: KeyPath): Tree {
    if (node === null) return leaf(new PlainScalar(null, ""), key, key);
    const offset = node.range[0];
    if (path.length > MAX_DEPTH) {
      problem(offset, path.slice(0, 1), `nested more than ${MAX_DEPTH} levels deep; use fewer levels`);
      return leaf(BROKEN, key, place(offset));
    }
    if (!aliases.count()) return leaf(BROKEN, key, place(offset));
    if (isAlias(node)) return readAlias(node, key, path);
    if (isScalar(node)) return readLeaf(node, key, path);
    if (isMap(node)) return readMap(node, key, path);
    const data: unknown[] = [];
    const children = new Map<string | number, Spot>();
    for (const [index, item] of node.items.entries()) {
      const tree = readNode(item, place(item?.range[0] ?? offset), [...path, index]);
      if (tree.data === SKIPPED) continue;
      children.set(data.length, tree.spot);
      data.push(tree.data);
    }
    return { data, spot: { key, value: place(offset), children, secrets: [] } };
  }

  function readAlias(node: Alias.Parsed, key: Place, path: KeyPath): Tree {
    const followed = aliases.follow(node, (target) => readNode(target, key, path));
    if (followed.ok) return followed.result;
    if (followed.why !== undefined) problem(node.range[0], path, followed.why);
    return leaf(BROKEN, key, place(node.range[0]));
  }

  function readLeaf(node: Scalar.Parsed, key: Place, path: KeyPath): Tree {
    const value = place(node.range[0]);
    const reading = readScalar(node, file, context.environment);
    switch (reading.kind) {
      case "value":
        return { data: reading.data, spot: { key, value, children: undefined, secrets: reading.secrets } };
      case "include": {
        const { data, spot } = context.include(reading.include, value, path);
        return { data, spot: { ...spot, key } };
      }
      case "broken":
        for (const message of reading.messages) problem(value.offset, path, message);
        return leaf(BROKEN, key, value);
    }
  }

  function readMap(node: YAMLMap.Parsed, key: Place, path: KeyPath): Tree {
    const data: Mapping = Object.create(null);
    const children = new Map<string | number, Spot>();
    for (const entry of entriesOf(node, path)) {
      if (entry.kind === "include") {
        problem(entry.at.offset, path, "misplaced include; it stands at the top level, or as the value of a key");
      } else if (!children.has(entry.name)) {
        const tree = entry.read([...path, entry.name]);
        if (tree.data === SKIPPED) continue;
        data[entry.name] = tree.data;
        children.set(entry.name, tree.spot);
      }
    }
    // A key that is no name makes it unclear what the mapping is.
    const named = node.items.every((pair) => isScalar(pair.key));
    return { data: named ? data : BROKEN, spot: { key, value: place(node.range[0]), children, secrets: [] } };
  }

  function entriesOf(node: YAMLMap.Parsed, path: KeyPath): readonly Entry[] {
    const written: Entry[] = [];
    const merged: Entry[] = [];
    for (const pair of node.items) {
      if (isMergeKey(pair)) merged.push(...mergedEntries(pair, path));
      else {
        const entry = readEntry(pair, path);
        if (entry !== undefined) written.push(entry);
      }
    }
    return merged.length === 0 ? written : [...written, ...merged];
  }

  function readEntry(pair: Pair<ParsedNode, ParsedNode | null>, path: KeyPath): Entry | undefined {
    const { key, value } = pair;
    const at = place(key.range[0]);
    if (!isScalar(key)) {
      const braces = file.text.startsWith("{{", at.offset - 1);
      problem(at.offset, path, braces ? "put quotes around a value with {{...}}" : "expected a name as the key");
      return undefined;
    }
    const raw = typeof key.value === "string" ? key.value : (key.source ?? "");
    const [first] = holdsToken(raw) ? splitText(raw, directives) : [];
    if (first?.kind === "include") return { kind: "include", include: first.include, at };
    const name = unmask(raw, directives);
    if (first?.kind === "malformed") problem(at.offset, path, malformed(name));
    else if (name === "__proto__") problem(at.offset, [...path, name], "unknown key '__proto__'; remove it");
    else return { kind: "key", name, at, read: (whole) => readNode(value, at, whole) };
    return undefined;
  }

  /** `<<: *name`, or a list of such: of two sources the first wins. */
  function mergedEntries(pair: Pair<ParsedNode, ParsedNode | null>, path: KeyPath): readonly Entry[] {
    const at = place(pair.key.range[0]);
    const { data, spot } = readNode(pair.value, at, path);
    if (data === BROKEN) return [];
    const sources = Array.isArray(data)
      ? data.map((item, index) => ({ item, spot: spot.children?.get(index) }))
      : [{ item: data, spot }];
    if (sources.some(({ item }) => !isMapping(item))) {
      problem(at.offset, path, "the merge key '<<' takes an alias of a mapping, or a list of them");
    }
    return sources.flatMap(({ item, spot: from }) =>
      [...(from?.children ?? [])].flatMap(([name, child]): Entry[] =>
        isMapping(item) && typeof name === "string"
          ? [{ kind: "key", name, at: child.key, read: () => ({ data: item[name], spot: child }) }]
          : [],
      ),
    );
  }

  return entriesOf(file.root, []);
}

function isMergeKey({ key }: Pair<ParsedNode, ParsedNode | null>): boolean {
  return isScalar(key) && key.type === "PLAIN" && key.source === "<<";
}

export function leaf(data: unknown, key: Place, value: Place): Tree {
  return { data, spot: { key, value, children: undefined, secrets: [] } };
}
