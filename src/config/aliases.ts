import type { YamlAlias, YamlNode } from "./yaml-node.ts";

/** The limit per file. Without it, a short file of nested aliases can expand to billions of values. */
const MAX_REPEATED = 10_000;

export interface Aliases {
  /** Reads the target of an alias. */
  follow<Result>(alias: YamlAlias, read: (target: YamlNode) => Result): FollowResult<Result>;
  /** Counts a value if it is read through an alias. Returns false if there are too many. */
  count(): boolean;
}

/** `why` is undefined if the problem is already reported. */
export type FollowResult<Result> =
  | { readonly ok: true; readonly result: Result }
  | { readonly ok: false; readonly why: string | undefined };

export function openAliases(root: YamlNode): Aliases {
  let anchors: ReadonlyMap<string, readonly YamlNode[]> | undefined;
  const activeTargets = new Set<YamlNode>();
  let repeated = 0;
  let isReported = false;
  return {
    count: () => activeTargets.size === 0 || ++repeated <= MAX_REPEATED,
    follow({ name, start }, read) {
      anchors ??= anchorsIn(root);
      // An anchor may be redefined. An alias refers to the last definition before it.
      const target = anchors.get(name)?.findLast((node) => node.start < start);
      if (target === undefined) return failure(`unknown alias '*${name}'; no '&${name}' is defined before it`);
      if (activeTargets.has(target)) return failure(`the alias '*${name}' is inside the value that it refers to`);
      activeTargets.add(target);
      const result = read(target);
      activeTargets.delete(target);
      if (repeated <= MAX_REPEATED) return { ok: true, result };
      // Reported once, for the outermost alias.
      const why =
        isReported || activeTargets.size > 0
          ? undefined
          : `the aliases repeat more than ${MAX_REPEATED} values; use fewer`;
      isReported ||= activeTargets.size === 0;
      return { ok: false, why };
    },
  };
}

function failure(why: string): { readonly ok: false; readonly why: string } {
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
