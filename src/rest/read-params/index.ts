import type { IncomingMessage } from "node:http";
import type { Endpoint } from "../../endpoint/endpoint.ts";
import { andThen, type Eventually } from "../../eventually.ts";
import { RequestFailure } from "../../failure.ts";
import { readBody } from "../../http/body-stream.ts";
import { isJsonContentType } from "../../http/content-type.ts";
import type { RawParams } from "../../params/parameter.ts";
import { MAX_UNSLICED, runAtOnce, runInSlices } from "../../slices.ts";
import { parseBody } from "./parse-body.ts";
import { parsePath } from "./parse-path.ts";
import { parseQuery } from "./parse-query.ts";
import { readHeaders } from "./read-headers.ts";
import { NO_ERRORS, NO_VALUES, type ReadValues } from "./read-values.ts";
import type { Target } from "./target.ts";

/** Reads the raw parameters of a request, by location. Fails with a RequestFailure if the path, query or body is malformed. */
export function readParams(
  request: IncomingMessage,
  target: Target,
  options: {
    readonly endpoint: Endpoint;
    readonly pathParams: ReadonlyMap<string, string>;
    /** The headers that the endpoint's parameters name. */
    readonly headers: readonly string[];
    readonly maxBodyBytes: number;
  },
): Eventually<RawParams> {
  const path = parsePath(options.pathParams);
  const query = parseQuery(target.query);
  const takesBody = options.endpoint.route?.method !== "GET";
  return andThen(takesBody ? readJsonBody(request, options) : NOTHING, (body) => {
    const errors = [...path.errors, ...query.errors, ...body.errors];
    if (errors.length > 0) throw new RequestFailure({ kind: "invalid-params", errors });
    const header = readHeaders(request.headers, options.headers);
    return { query: query.values, path: path.values, header, body: body.values };
  });
}

const NOTHING: ReadValues = { values: NO_VALUES, errors: NO_ERRORS };

async function readJsonBody(
  request: IncomingMessage,
  { endpoint, maxBodyBytes }: { readonly endpoint: Endpoint; readonly maxBodyBytes: number },
): Promise<ReadValues> {
  const { "content-length": length, "transfer-encoding": encoding, "content-type": type } = request.headers;
  const hasBody = encoding !== undefined || (length !== undefined && length !== "0");
  if (!hasBody) return NOTHING;
  if (type !== undefined && !isJsonContentType(type)) throw new RequestFailure({ kind: "unsupported-body-type" });
  const bytes = await readBody(request, length, maxBodyBytes);
  // An empty chunked body counts as no body. Any other body needs a Content-Type.
  if (bytes.length > 0 && type === undefined) throw new RequestFailure({ kind: "unsupported-body-type" });
  const parsing = parseBody(bytes, () => endpoint.parameters.flatMap((each) => (each.in === "body" ? each.name : [])));
  return bytes.length <= MAX_UNSLICED ? runAtOnce(parsing) : await runInSlices(parsing);
}
