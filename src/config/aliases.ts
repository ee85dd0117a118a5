import type { YamlAlias, YamlNode } from "./yaml-node.ts";

/** The limit per file. Without it, a short file of nested aliases can expand to billions of values. */
const MAX_REPEATED = 10_000;

export interface Aliases {
  /** Reads the target of an alias. */
  follow<Result>(alias: YamlAlias, read: (target: YamlNode) => Result): Followed<Result>;
  /** Counts a value inside an alias. False if there are too many. */
  count(): boolean;
}

/** `why` is undefined if the problem is already reported. */
export type Followed<Result> =
  | { readonly ok: true; readonly result: Result }
  | { readonly ok: false; readonly why: string | undefined };

export function openAliases(root: YamlNode): Aliases {
  let anchors: ReadonlyMap<string, readonly YamlNode[]> | undefined;
  const open = new Set<YamlNode>();
  let repeated = 0;
  let refused = false;
  return {
    count: () => open.size === 0 || ++repeated <= MAX_REPEATED,
    follow({ name, start }, read) {
      anchors ??= anchorsIn(root);
      // An anchor may be redefined. An alias refers to the last definition before it.
      const target = anchors.get(name)?.findLast((node) => node.start < start);
      if (target === undefined) return failed(`unknown alias '*${name}'; no '&${name}' stands before it`);
      if (open.has(target)) return failed(`the alias '*${name}' stands inside what it names`);
      open.add(target);
      const result = read(target);
      open.delete(target);
      if (repeated <= MAX_REPEATED) return { ok: true, result };
      // Reported once, for the outermost alias.
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

function anchorsIn(root: YamlNode): ReadonlyMap<string, readonly YamlNode[]> {
  const anchors = new Map<string, YamlNode[]>();
  const pending = [root];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (node.kind === "alias") continue;
    if (node.anchor !== undefined) anchors.set(node.anchor, [...(anchors.get(node.anchor) ?? []), node]);
    if (node.kind === "list") pending.push(...node.items);
    if (node.kind === "map") for (const { key, value } of node.pairs) pending.push(key, value);
  }
  for (const nodes of anchors.values()) nodes.sort((left, right) => left.start - right.start);
  return anchors;
}
