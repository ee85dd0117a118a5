import { type Alias, isAlias, isCollection, isPair, isScalar, type Node, type ParsedNode } from "yaml";

/** Values that aliases may repeat in one file. A page of YAML can otherwise stand for billions of them. */
const MAX_REPEATED = 10_000;

export interface Aliases {
  /** Reads what an alias stands for. */
  follow<Result>(alias: Alias.Parsed, read: (target: ParsedNode) => Result): Followed<Result>;
  /** Counts one value that is being repeated. False when there are too many. */
  count(): boolean;
}

/** `why` is absent when it was said before. */
export type Followed<Result> =
  | { readonly ok: true; readonly result: Result }
  | { readonly ok: false; readonly why: string | undefined };

/** The library searches the whole document for every alias, and bounds none of them when nodes are read one by one. */
export function openAliases(root: ParsedNode): Aliases {
  let anchors: ReadonlyMap<string, readonly ParsedNode[]> | undefined;
  const open = new Set<ParsedNode>();
  let repeated = 0;
  let refused = false;
  return {
    count: () => open.size === 0 || ++repeated <= MAX_REPEATED,
    follow(alias, read) {
      anchors ??= anchorsIn(root);
      const name = alias.source;
      // An anchor may be given again further down: an alias means the last one before it.
      const target = anchors.get(name)?.findLast((node) => node.range[0] < alias.range[0]);
      if (target === undefined) return failed(`unknown alias '*${name}'; no '&${name}' stands before it`);
      if (open.has(target)) return failed(`the alias '*${name}' stands inside what it names`);
      open.add(target);
      const result = read(target);
      open.delete(target);
      if (repeated <= MAX_REPEATED) return { ok: true, result };
      // Said once, of the alias that stands in no other.
      const why =
        refused || open.size > 0 ? undefined : `the aliases repeat more than ${MAX_REPEATED} values; use fewer`;
      refused ||= open.size === 0;
      return { ok: false, why };
    },
  };
}

function failed(why: string): { readonly ok: false; readonly why: string } {
  return { ok: false, why };
}

function anchorsIn(root: ParsedNode): ReadonlyMap<string, readonly ParsedNode[]> {
  const anchors = new Map<string, ParsedNode[]>();
  const pending: unknown[] = [root];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (isPair(node)) pending.push(node.value ?? undefined, node.key);
    else if (isParsed(node)) {
      const { anchor } = node;
      if (anchor !== undefined) anchors.set(anchor, [...(anchors.get(anchor) ?? []), node]);
      if (isCollection(node)) pending.push(...[...node.items].reverse());
    }
  }
  for (const nodes of anchors.values()) nodes.sort((left, right) => left.range[0] - right.range[0]);
  return anchors;
}

function isParsed(node: unknown): node is ParsedNode & { readonly anchor?: string } {
  return (isScalar(node) || isCollection(node)) && !isAlias(node) && (node as Node).range !== undefined;
}
