import type { Operation } from "../../endpoint/endpoint.ts";
import { type FieldError, RequestFailure } from "../../failure.ts";
import type { Format } from "../../formats/format.ts";
import { formats } from "../../formats/index.ts";
import { json } from "../../formats/json/json.ts";
import { cacheByText } from "./cache-by-text.ts";
import { bestChoice, type FormatChoice, type MediaRange, parseMediaRanges } from "./media-ranges.ts";

/** The format of a response. With errors, the format is only a placeholder. */
export interface NegotiatedFormat extends FormatChoice {
  readonly errors: readonly FieldError[];
}

/** Selects a format by the value of `format`, otherwise by `Accept`. Throws a RequestFailure of kind `not-acceptable`. */
export type Negotiate = (formatName: string | undefined, accept: string | undefined) => NegotiatedFormat;

const NO_ERRORS: readonly FieldError[] = [];
const UNKNOWN: readonly FieldError[] = [{ field: "format", message: "Invalid enum value" }];

/** Negotiates between these formats. The first is the default. See docs/http.md. */
export function openNegotiation(offered: readonly [Format, ...Format[]]): Negotiate {
  const defaultFormat: NegotiatedFormat = { format: offered[0], codec: undefined, errors: NO_ERRORS };
  const unknown: NegotiatedFormat = { ...defaultFormat, errors: UNKNOWN };
  const rangesOf = cacheByText(parseMediaRanges);
  const byAccept = cacheByText((accept) => {
    const ranges = rangesOf(accept);
    // A header without a valid range counts as absent.
    if (ranges.length === 0) return defaultFormat;
    const choice = bestChoice(offered, ranges);
    return choice === undefined ? null : { ...choice, errors: NO_ERRORS };
  });
  return (formatName, accept) => {
    if (formatName !== undefined) {
      const name = formatName.toLowerCase();
      const format = offered.find((known) => known.name === name);
      if (format === undefined) return unknown;
      return { format, codec: codecFor(format, accept === undefined ? [] : rangesOf(accept)), errors: NO_ERRORS };
    }
    const negotiated = accept === undefined ? defaultFormat : byAccept(accept);
    if (negotiated !== null) return negotiated;
    throw new RequestFailure({ kind: "not-acceptable", offered: offered.map(({ mediaTypes }) => mediaTypes[0]) });
  };
}

/** `format` selects the format. `Accept` still selects its codec. */
function codecFor(format: Format, ranges: readonly MediaRange[]): string | undefined {
  return format.codecs.length === 0 ? undefined : bestChoice([format], ranges)?.codec;
}

const [first = json, ...others] = formats;
const negotiateRead = openNegotiation([first, ...others]);
/** The response to a write is always JSON. */
const negotiateWrite = openNegotiation([json]);

export function negotiationFor(operation: Operation): Negotiate {
  switch (operation.kind) {
    case "read":
      return negotiateRead;
    case "write":
      return negotiateWrite;
  }
}
