import type { Format } from "../../formats/format.ts";
import { parseWeightedList } from "./weighted-list.ts";

/** A media range in `Accept`. Parameters other than `codec` are ignored. */
export interface MediaRange {
  readonly type: string;
  readonly subtype: string;
  /** In lower case. */
  readonly codec: string | undefined;
  readonly q: number;
  /** The more specific, the higher. */
  readonly rank: number;
}

/** A format, and the codec that compresses its contents, if any. */
export interface FormatChoice {
  readonly format: Format;
  readonly codec: string | undefined;
}

const RANGE = /^([\w!#$%&'*+.^`|~-]+)\/([\w!#$%&'*+.^`|~-]+)$/;

/** No client needs more, and each is compared with every format. */
const MAX_RANGES = 100;

/** Skips members that are not media ranges, and those after the first hundred. */
export function parseMediaRanges(accept: string): readonly MediaRange[] {
  const ranges: MediaRange[] = [];
  for (const { value, q, parameters } of parseWeightedList(accept).slice(0, MAX_RANGES)) {
    // Java clients send a bare `*`.
    const [, type, subtype] = RANGE.exec(value === "*" ? "*/*" : value) ?? [];
    if (type === undefined || subtype === undefined || (type === "*" && subtype !== "*")) continue;
    const codec = parameters.get("codec")?.toLowerCase();
    const fixedParts = (type === "*" ? 0 : 1) + (subtype === "*" ? 0 : 1);
    ranges.push({ type, subtype, codec, q, rank: fixedParts * 2 + (codec === undefined ? 0 : 1) });
  }
  return ranges;
}

/** The range that applies to a choice, and its index. */
interface Decision {
  readonly range: MediaRange;
  readonly index: number;
}

/** The best match: by weight, then by the more specific range, then by the earlier range, then in the order offered. */
export function bestChoice(offered: readonly Format[], ranges: readonly MediaRange[]): FormatChoice | undefined {
  let best: { readonly choice: FormatChoice; readonly decision: Decision } | undefined;
  for (const format of offered) {
    for (const codec of [undefined, ...format.codecs]) {
      const choice = { format, codec };
      const decision = decisionFor(choice, ranges);
      if (decision === undefined || decision.range.q === 0) continue;
      if (best === undefined || isBetter(decision, best.decision)) best = { choice, decision };
    }
  }
  return best?.choice;
}

function isBetter(a: Decision, b: Decision): boolean {
  if (a.range.q !== b.range.q) return a.range.q > b.range.q;
  if (a.range.rank !== b.range.rank) return a.range.rank > b.range.rank;
  return a.index < b.index;
}

/** The most specific matching range; of two that are equally specific, the one with the higher weight. */
function decisionFor(choice: FormatChoice, ranges: readonly MediaRange[]): Decision | undefined {
  let found: Decision | undefined;
  for (const [index, range] of ranges.entries()) {
    if (!matches(range, choice)) continue;
    const [rank, q] = [found?.range.rank ?? -1, found?.range.q ?? 0];
    if (range.rank > rank || (range.rank === rank && range.q > q)) found = { range, index };
  }
  return found;
}

function matches({ type, subtype, codec, rank }: MediaRange, choice: FormatChoice): boolean {
  if (codec !== undefined && codec !== choice.codec) return false;
  if (rank < 2) return true;
  return choice.format.mediaTypes.some((name) =>
    subtype === "*" ? name.startsWith(`${type}/`) : name === `${type}/${subtype}`,
  );
}
