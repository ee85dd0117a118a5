import { RequestFailure } from "../failure.ts";
import type { Format } from "../formats/format.ts";
import { formats } from "../formats/index.ts";
import type { RawParams } from "../params/parameter.ts";

/** The format that a request asks for. Spec 4.5. */
export function negotiateFormat({ query }: RawParams): Format {
  const asked = query.get("format")?.text.toLowerCase();
  const format = asked === undefined ? formats[0] : formats.find(({ name }) => name === asked);
  if (format !== undefined) return format;
  throw new RequestFailure({ kind: "invalid-params", errors: [{ field: "format", message: "Invalid enum value" }] });
}
