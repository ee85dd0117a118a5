import type { Format } from "../../formats/format.ts";
import { parseWeightedList } from "./weighted-list.ts";

/** A media range of `Accept`. Parameters other than `codec` say nothing that we could heed. */
export interface MediaRange {
  readonly type: string;
  readonly subtype: string;
  /** In lower case. */
  readonly codec: string | undefined;
  readonly q: number;
  /** The more specific, the higher. */
  readonly rank: number;
}

/** A format, with its bytes packed inside by a codec or not. */
export interface FormatChoice {
  readonly format: Format;
  readonly codec: string | undefined;
}

const RANGE = /^([\w!#$%&'*+.^`|~-]+)\/([\w!#$%&'*+.^`|~-]+)$/;

/** No client means more, and each is held against every format. */
const MAX_RANGES = 100;

/** What is no media range is left out, and so is what comes after the first hundred members. */
export function parseMediaRanges(accept: string): readonly MediaRange[] {
  const ranges: MediaRange[] = [];
  for (const { value, q, parameters } of parseWeightedList(accept).slice(0, MAX_RANGES)) {
    // Java has sent a bare star for decades.
    const [, type, subtype] = RANGE.exec(value === "*" ? "*/*" : value) ?? [];
    if (type === undefined || subtype === undefined || (type === "*" && subtype !== "*")) continue;
    const codec = parameters.get("codec")?.toLowerCase();
    const names = (type === "*" ? 0 : 1) + (subtype === "*" ? 0 : 1);
    ranges.push({ type, subtype, codec, q, rank: names * 2 + (codec === undefined ? 0 : 1) });
  }
  return ranges;
}

/** The range that decides about a choice, and where it stands. */
interface Decision {
  readonly range: MediaRange;
  readonly place: number;
}

/** What fits best: the higher weight, then the more specific range, then the earlier one, then the order of the offer. */
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
  return a.place < b.place;
}

/** The most specific range counts; of two that differ only in what we do not heed, the one that likes us more. */
function decisionFor(choice: FormatChoice, ranges: readonly MediaRange[]): Decision | undefined {
  let found: Decision | undefined;
  for (const [place, range] of ranges.entries()) {
    if (!matches(range, choice)) continue;
    const [rank, q] = [found?.range.rank ?? -1, found?.range.q ?? 0];
    if (range.rank > rank || (range.rank === rank && range.q > q)) found = { range, place };
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
