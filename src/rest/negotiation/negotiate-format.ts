import type { Operation } from "../../endpoint/endpoint.ts";
import { type FieldError, RequestFailure } from "../../failure.ts";
import type { Format } from "../../formats/format.ts";
import { formats } from "../../formats/index.ts";
import { json } from "../../formats/json/json.ts";
import { bestChoice, type FormatChoice, type MediaRange, parseMediaRanges } from "./media-ranges.ts";
import { rememberByText } from "./remember.ts";

/** What a request wants its answer to be. With errors there is none: the format is then only a stopgap. */
export interface Negotiated extends FormatChoice {
  readonly errors: readonly FieldError[];
}

/** Finds the format for the value of `format` and for `Accept`. Throws a RequestFailure `not-acceptable`. */
export type Negotiate = (asked: string | undefined, accept: string | undefined) => Negotiated;

const NO_ERRORS: readonly FieldError[] = [];
const UNKNOWN: readonly FieldError[] = [{ field: "format", message: "Invalid enum value" }];

/** Over these formats, the first of which is the default. Spec 4.5, decisions.md 5. */
export function openNegotiation(offered: readonly [Format, ...Format[]]): Negotiate {
  const byDefault: Negotiated = { format: offered[0], codec: undefined, errors: NO_ERRORS };
  const unknown: Negotiated = { ...byDefault, errors: UNKNOWN };
  const rangesOf = rememberByText(parseMediaRanges);
  const byAccept = rememberByText((accept) => {
    const ranges = rangesOf(accept);
    // A header that names nothing asks for nothing.
    if (ranges.length === 0) return byDefault;
    const choice = bestChoice(offered, ranges);
    return choice === undefined ? null : { ...choice, errors: NO_ERRORS };
  });
  return (asked, accept) => {
    if (asked !== undefined) {
      const name = asked.toLowerCase();
      const format = offered.find((known) => known.name === name);
      if (format === undefined) return unknown;
      return { format, codec: codecFor(format, accept === undefined ? [] : rangesOf(accept)), errors: NO_ERRORS };
    }
    const negotiated = accept === undefined ? byDefault : byAccept(accept);
    if (negotiated !== null) return negotiated;
    throw new RequestFailure({ kind: "not-acceptable", offered: offered.map(({ mediaTypes }) => mediaTypes[0]) });
  };
}

/** `format` names the format; how it is packed inside is still for `Accept` to say. */
function codecFor(format: Format, ranges: readonly MediaRange[]): string | undefined {
  return format.codecs.length === 0 ? undefined : bestChoice([format], ranges)?.codec;
}

const [first = json, ...others] = formats;
const negotiateRead = openNegotiation([first, ...others]);
/** What a write answers is not a table. Spec 4.4. */
const negotiateWrite = openNegotiation([json]);

export function negotiationFor(operation: Operation): Negotiate {
  switch (operation.kind) {
    case "read":
      return negotiateRead;
    case "write":
      return negotiateWrite;
  }
}
