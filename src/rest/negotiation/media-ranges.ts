import type { Format } from "../../formats/format.ts";
import { parseWeightedList } from "./weighted-list.ts";

/** A media range in `Accept`, such as `text/*`. Parameters other than `codec` and `q` are ignored. */
export interface MediaRange {
  readonly type: string;
  readonly subtype: string;
  /** In lower case. */
  readonly codec: string | undefined;
  readonly q: number;
  /** Higher for a more specific range. */
  readonly rank: number;
}

/** A format, and optionally a codec that compresses its contents. */
export interface FormatChoice {
  readonly format: Format;
  readonly codec: string | undefined;
}

const RANGE = /^([\w!#$%&'*+.^`|~-]+)\/([\w!#$%&'*+.^`|~-]+)$/;

/** No client needs more, and each range is compared with every format. */
const MAX_RANGES = 100;

/** Parses `Accept`. Skips members that are not media ranges, and all after the first hundred. */
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

/** The range that applies to a choice, and its position in `Accept`. */
interface MatchedRange {
  readonly range: MediaRange;
  readonly index: number;
}

/** The best match: by weight, then by the more specific range, then by the earlier range, then in the order offered. */
export function bestChoice(offered: readonly Format[], ranges: readonly MediaRange[]): FormatChoice | undefined {
  let best: { readonly choice: FormatChoice; readonly matched: MatchedRange } | undefined;
  for (const format of offered) {
    for (const codec of [undefined, ...format.codecs]) {
      const choice = { format, codec };
      const matched = matchedRange(choice, ranges);
      if (matched === undefined || matched.range.q === 0) continue;
      if (best === undefined || isBetter(matched, best.matched)) best = { choice, matched };
    }
  }
  return best?.choice;
}

function isBetter(a: MatchedRange, b: MatchedRange): boolean {
  if (a.range.q !== b.range.q) return a.range.q > b.range.q;
  if (a.range.rank !== b.range.rank) return a.range.rank > b.range.rank;
  return a.index < b.index;
}

/** The most specific range that matches a choice; among equally specific ones, the one with the highest weight. */
function matchedRange(choice: FormatChoice, ranges: readonly MediaRange[]): MatchedRange | undefined {
  let found: MatchedRange | undefined;
  for (const [index, range] of ranges.entries()) {
    if (!matches(range, choice)) continue;
    const [rank, q] = [found?.range.rank ?? -1, found?.range.q ?? 0];
    if (range.rank > rank || (range.rank === rank && range.q > q)) found = { range, index };
  }
  return found;
}

function matches({ type, subtype, codec }: MediaRange, choice: FormatChoice): boolean {
  if (codec !== undefined && codec !== choice.codec) return false;
  if (type === "*") return true;
  return choice.format.mediaTypes.some((name) =>
    subtype === "*" ? name.startsWith(`${type}/`) : name === `${type}/${subtype}`,
  );
}
