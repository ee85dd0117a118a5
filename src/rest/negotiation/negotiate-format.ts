import type { Operation } from "../../endpoint/endpoint.ts";
import { type FieldError, RequestFailure } from "../../failure.ts";
import type { Format } from "../../formats/format.ts";
import { formats } from "../../formats/index.ts";
import { json } from "../../formats/json/json.ts";
import { cacheByText } from "./cache-by-text.ts";
import { bestChoice, type FormatChoice, type MediaRange, parseMediaRanges } from "./media-ranges.ts";

/** The format of a response. If there are errors, it is the default, which is then not used. */
export interface NegotiatedFormat extends FormatChoice {
  readonly errors: readonly FieldError[];
}

/** Selects a format by the value of `format`, otherwise by `Accept`. Throws a RequestFailure of kind `not-acceptable`. */
export type FormatNegotiator = (formatName: string | undefined, accept: string | undefined) => NegotiatedFormat;

const NO_ERRORS: readonly FieldError[] = [];
const UNKNOWN_FORMAT: readonly FieldError[] = [{ field: "format", message: "Invalid enum value" }];

/** Selects one of these formats. The first is the default. See docs/http.md. */
export function openNegotiator(offered: readonly [Format, ...Format[]]): FormatNegotiator {
  const defaultFormat: NegotiatedFormat = { format: offered[0], codec: undefined, errors: NO_ERRORS };
  const unknownFormat: NegotiatedFormat = { ...defaultFormat, errors: UNKNOWN_FORMAT };
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
      if (format === undefined) return unknownFormat;
      return { format, codec: codecFor(format, accept === undefined ? [] : rangesOf(accept)), errors: NO_ERRORS };
    }
    const negotiated = accept === undefined ? defaultFormat : byAccept(accept);
    if (negotiated !== null) return negotiated;
    throw new RequestFailure({ kind: "not-acceptable", offered: offered.map(({ mediaTypes }) => mediaTypes[0]) });
  };
}

/** If `format` selects the format, `Accept` still selects its codec. */
function codecFor(format: Format, ranges: readonly MediaRange[]): string | undefined {
  return format.codecs.length === 0 ? undefined : bestChoice([format], ranges)?.codec;
}

const [first = json, ...others] = formats;
const negotiateRead = openNegotiator([first, ...others]);
/** The response to a write is always JSON. */
const negotiateWrite = openNegotiator([json]);

export function negotiatorFor(operation: Operation): FormatNegotiator {
  switch (operation.kind) {
    case "read":
      return negotiateRead;
    case "write":
      return negotiateWrite;
  }
}
