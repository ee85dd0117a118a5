import { columnsOf, resolve, schemaOf } from "./schema.js";

/** Converts an OpenAPI document, of which any part may be missing, to the data that the page shows. */

const METHODS = ["get", "post", "put", "patch", "delete", "head", "options", "trace"];

/** The download formats, in the order of their buttons. */
export const FORMATS = [
  { name: "csv", label: "CSV", mediaType: "text/csv", extension: "csv" },
  { name: "arrow", label: "Arrow", mediaType: "application/vnd.apache.arrow.stream", extension: "arrows" },
  { name: "parquet", label: "Parquet", mediaType: "application/vnd.apache.parquet", extension: "parquet" },
  { name: "ndjson", label: "NDJSON", mediaType: "application/x-ndjson", extension: "ndjson" },
  { name: "json", label: "JSON", mediaType: "application/json", extension: "json" },
];

const text = (value) => (typeof value === "string" ? value : "");
const list = (value) => (Array.isArray(value) ? value : []);

export function readDocument(document) {
  const operations = new Map();
  for (const [path, item] of Object.entries(document.paths ?? {})) {
    const shared = resolve(document, item);
    for (const method of METHODS) {
      if (shared[method] === undefined) continue;
      const operation = readOperation(document, { path, method, shared, own: shared[method] });
      operations.set(operation.key, operation);
    }
  }
  return {
    document,
    title: text(document.info?.title) || "API",
    version: text(document.info?.version),
    description: text(document.info?.description),
    events: text(document["x-eider-events"]),
    schemes: readSchemes(document),
    operations,
    groups: groupsOf(document, [...operations.values()]),
  };
}

function readOperation(document, { path, method, shared, own }) {
  const params = new Map();
  for (const each of [...list(shared.parameters), ...list(own.parameters)]) {
    const param = resolve(document, each);
    if (text(param.name) === "" || param.in === "cookie") continue;
    params.set(`${param.in}:${param.name}`, readField(document, param));
  }
  const responses = Object.entries(own.responses ?? {}).map(([status, each]) => readResponse(document, status, each));
  const success = responses.find(({ status }) => status.startsWith("2"));
  const json = success?.media.find(({ type }) => type === "application/json");
  const upper = method.toUpperCase();
  const isWrite = changesData(document, upper, own, json);
  const singleRowIn = own["x-eider-returns"] !== "one" ? undefined : isWrite ? "data" : "body";
  return {
    key: `${upper} ${path}`,
    method: upper,
    path,
    ...summaryAndDescription(own, upper),
    deprecated: own.deprecated === true,
    tags: list(own.tags).filter((tag) => typeof tag === "string"),
    params: [...params.values()],
    body: readBody(document, own.requestBody),
    responses,
    security: list(own.security ?? document.security).map((each) => Object.keys(each ?? {})),
    columns: json && columnsOf(document, json.schema, singleRowIn),
    singleRowIn,
    formats: formatsOf(success),
    isWrite,
  };
}

/** Removes a summary that is only method and path, and a summary repeated at the start of the description. */
function summaryAndDescription({ summary: given, description: full }, method) {
  const summary = text(given).startsWith(`${method} /`) ? "" : text(given).trim();
  const description = text(full).trim();
  const repeats = summary !== "" && (description === summary || description.startsWith(`${summary}\n`));
  return { summary, description: repeats ? description.slice(summary.length).trim() : description };
}

function readField(document, param) {
  return {
    name: param.name,
    location: param.in,
    required: param.required === true,
    deprecated: param.deprecated === true,
    description: text(param.description),
    schema: schemaOf(document, param.schema ?? {}),
    example: param.example,
  };
}

function readBody(document, given) {
  const body = resolve(document, given);
  const media = body.content?.["application/json"];
  if (media === undefined) return undefined;
  const schema = schemaOf(document, media.schema ?? {});
  const fields = Object.entries(schema.properties ?? {}).map(([name, property]) =>
    readField(document, {
      name,
      in: "body",
      required: schema.required?.includes(name) === true,
      description: schemaOf(document, property).description,
      schema: property,
    }),
  );
  return { required: body.required === true, fields };
}

function readResponse(document, status, given) {
  const response = resolve(document, given);
  return {
    status,
    description: text(response.description),
    headers: Object.entries(response.headers ?? {}).map(([name, header]) => {
      const { description, schema } = resolve(document, header);
      return { name, description: text(description), schema: schema ?? {} };
    }),
    media: Object.entries(response.content ?? {}).map(([type, { schema }]) => ({ type, schema: schema ?? {} })),
  };
}

function formatsOf(response) {
  const named = FORMATS.filter(({ mediaType }) => response?.media.some(({ type }) => type.startsWith(mediaType)));
  return named.length > 1 ? named : [];
}

/** Whether an operation changes data. If the document does not state it, the response and the method decide. */
function changesData(document, method, own, json) {
  const kind = own["x-eider-operation"];
  if (kind === "read" || kind === "write") return kind === "write";
  const body = schemaOf(document, json?.schema ?? {});
  if (body.properties?.rows_affected !== undefined) return true;
  const isRead = body.properties?.data !== undefined || body.type === "array";
  return !isRead && !["GET", "HEAD", "OPTIONS", "TRACE"].includes(method);
}

function readSchemes(document) {
  const schemes = new Map();
  for (const [name, given] of Object.entries(document.components?.securitySchemes ?? {})) {
    const scheme = resolve(document, given);
    const isBasic = scheme.type === "http" && text(scheme.scheme).toLowerCase() === "basic";
    const kind = isBasic ? "basic" : "bearer";
    const issuer = text(scheme.openIdConnectUrl).replace(/\/\.well-known\/.*$/, "");
    const description = text(scheme.description) || (issuer === "" ? "" : `Token from ${issuer}`);
    schemes.set(name, { name, kind, description });
  }
  return schemes;
}

/** Groups by first tag: listed tags in their order, then other tags, then operations without tags. */
function groupsOf(document, operations) {
  const groups = new Map();
  for (const tag of list(document.tags)) {
    if (text(tag?.name) !== "")
      groups.set(tag.name, { name: tag.name, description: text(tag.description), operations: [] });
  }
  for (const operation of operations) {
    const [name = ""] = operation.tags;
    if (!groups.has(name)) groups.set(name, { name, description: "", operations: [] });
    groups.get(name).operations.push(operation);
  }
  const filled = [...groups.values()].filter((group) => group.operations.length > 0);
  return filled.sort((a, b) => Number(a.name === "") - Number(b.name === ""));
}
