import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { RequestFailure } from "../../src/failure.ts";
import { arrow } from "../../src/formats/arrow/arrow.ts";
import { csv } from "../../src/formats/csv/csv.ts";
import { formats } from "../../src/formats/index.ts";
import { json } from "../../src/formats/json/json.ts";
import { ndjson } from "../../src/formats/ndjson/ndjson.ts";
import { parquet } from "../../src/formats/parquet/parquet.ts";
import { negotiatorFor, openNegotiator } from "../../src/rest/negotiation/negotiate-format.ts";
import { cpuMs } from "../cpu-time.ts";
import { serviceFrom, type TestService } from "../service.ts";

const ARROW = "application/vnd.apache.arrow.stream";
const PARQUET = "application/vnd.apache.parquet";
const CHROME =
  "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7";
const FIREFOX = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

const offered = [json, csv, arrow, ndjson, parquet] as const;
const negotiate = openNegotiator(offered);

/** `arrow`, `arrow lz4`, `400` or `406`. */
function chosen(format: string | undefined, accept: string | undefined, over = negotiate): string {
  try {
    const { format: found, codec, errors } = over(format, accept);
    if (errors.length > 0) return "400";
    return codec === undefined ? found.name : `${found.name} ${codec}`;
  } catch (error) {
    if (error instanceof RequestFailure && error.failure.kind === "not-acceptable") return "406";
    throw error;
  }
}

describe("what a request asks for", () => {
  test.each<[format: string | undefined, accept: string | undefined, expected: string]>([
    // Nothing in particular.
    [undefined, undefined, "json"],
    [undefined, "", "json"],
    [undefined, "  ", "json"],
    [undefined, ",, ,", "json"],
    [undefined, "*/*", "json"],
    [undefined, "*", "json"],
    [undefined, CHROME, "json"],
    [undefined, FIREFOX, "json"],
    [undefined, "application/json, text/plain, */*", "json"],
    [undefined, "application/json, text/javascript, */*; q=0.01", "json"],
    [undefined, "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2", "json"],
    [undefined, "image/avif,image/webp,*/*", "json"],
    // One type.
    [undefined, "application/json", "json"],
    [undefined, "Application/JSON", "json"],
    [undefined, "application/json; charset=utf-8", "json"],
    [undefined, 'application/json;profile="a,b;q=0";q=0.5', "json"],
    [undefined, "text/csv", "csv"],
    [undefined, "text/csv;header=present", "csv"],
    [undefined, "application/x-ndjson", "ndjson"],
    [undefined, "application/ndjson", "ndjson"],
    [undefined, ARROW, "arrow"],
    [undefined, PARQUET, "parquet"],
    [undefined, "application/x-parquet", "parquet"],
    [undefined, "text/html", "406"],
    [undefined, "application/xml", "406"],
    [undefined, "text/csvx", "406"],
    // Wildcards.
    [undefined, "text/*", "csv"],
    [undefined, "application/*", "json"],
    [undefined, "image/*", "406"],
    [undefined, "text/*, application/json;q=0.9", "csv"],
    [undefined, "text/*, */*;q=0.1", "csv"],
    [undefined, "*/*, text/csv", "csv"],
    [undefined, "*/json", "json"],
    // Weights.
    [undefined, "application/json;q=0.5, text/csv;q=0.9", "csv"],
    [undefined, "application/json;q=0.5, text/csv", "csv"],
    [undefined, "text/csv;q=0.1, application/json;q=0.01", "csv"],
    [undefined, "text/csv; q=0.899, application/json; q=0.9", "json"],
    [undefined, "text/csv;Q=0.2, application/json;q=0.3", "json"],
    [undefined, "text/csv;q=1.0, application/json;q=1.000", "csv"],
    [undefined, 'text/csv;q="0.2", application/json;q=0.3', "json"],
    [undefined, "application/json;q=0, */*", "csv"],
    [undefined, "application/json;q=0, text/csv;q=0, */*;q=0.1", "arrow"],
    [undefined, "*/*;q=0", "406"],
    [undefined, "*/*;q=0.000", "406"],
    [undefined, "text/*;q=0, */*;q=0.5", "json"],
    [undefined, "application/json;q=0", "406"],
    [undefined, "*/*;q=0, text/csv", "csv"],
    [undefined, "text/csv;q=0.1, text/csv;header=present", "csv"],
    // Ties.
    [undefined, "text/csv, application/json", "csv"],
    [undefined, "application/json, text/csv", "json"],
    [undefined, "application/*, text/csv", "csv"],
    [undefined, "*/*, application/x-ndjson", "ndjson"],
    // What cannot be read is left out.
    [undefined, "text/csv;q=2", "csv"],
    [undefined, "text/csv;q=-1, application/json;q=0.5", "csv"],
    [undefined, "text/csv;q=abc", "csv"],
    [undefined, "text/csv;q=", "csv"],
    [undefined, "text/csv;;;q=0.5;", "csv"],
    [undefined, "csv", "json"],
    [undefined, "text/", "json"],
    [undefined, "text/csv/x, application/x-ndjson", "ndjson"],
    [undefined, "te xt/csv", "json"],
    [undefined, 'text/csv;x="never ends, application/json', "csv"],
    [undefined, 'text/html;x="\\"", text/csv', "csv"],
    // Codecs.
    [undefined, `${ARROW};codec=lz4`, "arrow lz4"],
    [undefined, `${ARROW}; codec=zstd`, "arrow zstd"],
    [undefined, `${ARROW}; CODEC="ZSTD"`, "arrow zstd"],
    [undefined, `${ARROW};codec=snappy`, "406"],
    [undefined, `${ARROW};codec=`, "406"],
    [undefined, `${ARROW};codec=snappy, ${ARROW};q=0.5`, "arrow"],
    [undefined, `${ARROW};codec=snappy, */*;q=0.1`, "json"],
    [undefined, `${ARROW};codec=lz4;q=0.5, ${ARROW};codec=zstd`, "arrow zstd"],
    [undefined, `${ARROW};codec=lz4;q=0.5, ${ARROW}`, "arrow"],
    [undefined, `${ARROW}, ${ARROW};codec=lz4`, "arrow lz4"],
    [undefined, `${ARROW};codec=lz4;q=0, ${ARROW}`, "arrow"],
    [undefined, `${ARROW};codec=lz4;q=0.9, application/json`, "json"],
    [undefined, "application/json;codec=lz4", "406"],
    // `format` wins.
    ["json", "text/csv", "json"],
    ["csv", undefined, "csv"],
    ["CSV", "application/json", "csv"],
    ["Arrow", "*/*;q=0", "arrow"],
    ["parquet", CHROME, "parquet"],
    ["ndjson", "text/html", "ndjson"],
    ["arrow", `${ARROW};codec=lz4`, "arrow lz4"],
    ["arrow", `application/json, ${ARROW};codec=zstd;q=0.1`, "arrow zstd"],
    ["arrow", `${ARROW};codec=lz4;q=0`, "arrow"],
    ["arrow", `${ARROW};codec=snappy`, "arrow"],
    ["csv", `${ARROW};codec=lz4`, "csv"],
    ["xml", undefined, "400"],
    ["", undefined, "400"],
    ["xml", "*/*;q=0", "400"],
    [" csv", undefined, "400"],
    ["__proto__", undefined, "400"],
  ])("format %j and Accept %j give %s", (format, accept, expected) => {
    expect(chosen(format, accept)).toBe(expected);
    // The second time it is remembered.
    expect(chosen(format, accept)).toBe(expected);
  });

  test("a write offers JSON only", () => {
    const write = negotiatorFor({
      kind: "write",
      returnsData: true,
      returns: "many",
      statuses: { constraintFailure: "500", changed: 200, unchanged: 200 },
      transaction: true,
      validateBeforeWrite: true,
      allow: [],
    });
    expect(chosen(undefined, undefined, write)).toBe("json");
    expect(chosen(undefined, "text/csv, */*;q=0.1", write)).toBe("json");
    expect(chosen(undefined, "text/csv", write)).toBe("406");
    expect(chosen("csv", undefined, write)).toBe("400");
  });

  test.each([
    ["commas", ",".repeat(16_000)],
    ["quotes", '"'.repeat(16_000)],
    ["an endless quote", `text/csv;x="${"\\".repeat(16_000)}`],
    ["ranges", "a/b,".repeat(4_000)],
    ["parameters", `text/csv${";q=0.1".repeat(2_600)}`],
    ["codecs", `${ARROW};codec=x,`.repeat(350)],
    ["spaces", `text/csv${" ".repeat(16_000)};q=0.5`],
    ["a long word", `${"x".repeat(8_000)}/${"y".repeat(8_000)}`],
  ])("16 KiB of %s take no time", async (_, accept) => {
    const ms = await cpuMs(() => {
      for (let count = 0; count < 10; count++) chosen(undefined, accept);
    });
    expect(ms).toBeLessThan(1_000);
  });

  test("whatever is sent, something is chosen or nothing is acceptable", () => {
    const unit = fc.constantFrom(
      "text/csv",
      ARROW,
      "*/*",
      "/",
      "*",
      ",",
      ";",
      "q=",
      "0.5",
      "codec=lz4",
      '"',
      "\\",
      " ",
      "é",
    );
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 40 }), (accept) => {
        expect(["json", "csv", "arrow", "arrow lz4", "arrow zstd", "ndjson", "parquet", "406"]).toContain(
          chosen(undefined, accept),
        );
      }),
    );
  });

  test("many different headers are answered, and not all remembered", () => {
    for (let count = 0; count < 3_000; count++) expect(chosen(undefined, `text/csv;x=${count}`)).toBe("csv");
  });
});

describe("over HTTP", () => {
  let service: TestService;
  beforeAll(async () => {
    service = await serviceFrom({
      "x.yaml": "url-path: /x\ntemplate-source: x.sql\nconnection: memory\n",
      "x.sql": "SELECT range AS n, 'a' || range AS t FROM range(3)",
      "strict.yaml":
        "url-path: /strict\ntemplate-source: strict.sql\nconnection: memory\nrequest-fields-validation: true\nrequest:\n  - { field-name: id, field-in: query, required: true, validators: [{ type: int }] }\n",
      "strict.sql": "SELECT {{params.id}} AS id",
      "fails.yaml": "url-path: /fails\ntemplate-source: fails.sql\nconnection: memory\n",
      "fails.sql": "SELECT error('broken') AS n",
      "post.yaml":
        "url-path: /post\nmethod: POST\noperation: { type: read }\ntemplate-source: x.sql\nconnection: memory\n",
      "write.yaml": "url-path: /write\nmethod: PUT\ntemplate-source: write.sql\nconnection: memory\n",
      "write.sql": "CREATE TABLE written (n int)",
    });
  });
  afterAll(() => service?.[Symbol.asyncDispose]());

  test.each(formats)("$name by `format` and by every name in `Accept`", async ({ name, contentType, mediaTypes }) => {
    const answers = [
      await service.get(`/x?format=${name.toUpperCase()}`, { accept: "text/html" }),
      await service.request(`/post?format=${name}`, { method: "POST" }),
      ...(await Promise.all(mediaTypes.map((accept) => service.get("/x", { accept: `${accept};q=0.3` })))),
    ];
    for (const answer of answers) {
      expect(answer.status).toBe(200);
      expect(answer.headers.get("content-type")).toBe(contentType);
      expect(answer.headers.get("vary")).toBe("Accept, Accept-Encoding");
      expect(answer.headers.get("cache-control")).toBe("no-cache");
      expect(answer.headers.get("x-total-count")).toBe("3");
      expect((await answer.arrayBuffer()).byteLength).toBeGreaterThan(0);
    }
  });

  test.each(["*/*;q=0", "text/html", `${ARROW};codec=snappy`])("406 for %s, with what is offered", async (accept) => {
    const answer = await service.get("/x", { accept });
    expect(answer.status).toBe(406);
    expect(answer.headers.get("content-type")).toBe("application/json");
    expect(answer.headers.get("vary")).toBe("Accept, Accept-Encoding");
    const types = formats.map(({ mediaTypes }) => mediaTypes[0]).join(", ");
    expect(await answer.json()).toEqual({ error: `Not Acceptable: offered are ${types}` });
  });

  test("codecs of Arrow reach the stream", async () => {
    const sizes = await Promise.all(
      ["", ";codec=lz4", ";codec=zstd"].map(async (codec) => {
        const answer = await service.get("/x?format=arrow", { accept: ARROW + codec });
        return [answer.status, (await answer.arrayBuffer()).byteLength];
      }),
    );
    expect(sizes.map(([status]) => status)).toEqual([200, 200, 200]);
    expect(new Set(sizes.map(([, size]) => size)).size).toBeGreaterThan(1);
  });

  test("an unknown format is told together with everything else, in order", async () => {
    const answer = await service.get("/strict?id=x&format=xml&limit=-1&offset=x&other=1", { accept: "text/csv" });
    expect(answer.status).toBe(400);
    expect(answer.headers.get("vary")).toBe("Accept, Accept-Encoding");
    expect(await answer.json()).toEqual({
      errors: [
        { field: "id", message: "Invalid integer value" },
        { field: "limit", message: "Integer is less than the minimum allowed value" },
        { field: "offset", message: "Invalid integer value" },
        { field: "format", message: "Invalid enum value" },
        { field: "other", message: "Unknown parameter not defined in endpoint configuration" },
      ],
    });
  });

  test.each([
    ["/fails", 500],
    ["/strict", 400],
    ["/x?limit=x", 400],
  ])("errors are JSON whatever was asked: %s", async (path, status) => {
    const answer = await service.get(path, { accept: ARROW });
    expect([answer.status, answer.headers.get("content-type")]).toEqual([status, "application/json"]);
    expect(answer.headers.get("vary")).toBe("Accept, Accept-Encoding");
    await answer.json();
  });

  test("only answers of endpoints vary", async () => {
    for (const path of ["/nothing", "/health"]) expect((await service.get(path)).headers.get("vary")).toBeNull();
  });

  test.each([
    ["format=csv&format=arrow", {}, 200, csv.contentType],
    ["format=xml&format=csv", {}, 400, "application/json"],
    ["format=%zz", {}, 400, "application/json"],
    ["format", {}, 400, "application/json"],
    ["format=csv", { range: "bytes=0-1" }, 200, csv.contentType],
    ["", { range: "bytes=5-", "if-range": '"x"' }, 200, "application/json"],
    ["", { accept: "x".repeat(15_000) }, 200, "application/json"],
    ["", { accept: "text/csv,".repeat(1_600) }, 200, csv.contentType],
    ["", { "accept-encoding": "gzip;q=x, ;;;, br;q=2,".repeat(500) }, 200, "application/json"],
    ["", { "if-none-match": '"'.repeat(15_000) }, 200, "application/json"],
  ])("bad input is answered: %s %.60j", async (query, headers, status, type) => {
    const answer = await service.get(`/x?${query}`, headers as Record<string, string>);
    expect([answer.status, answer.headers.get("content-type")]).toEqual([status, type]);
    expect(answer.headers.get("accept-ranges")).toBeNull();
    expect(answer.headers.get("content-range")).toBeNull();
  });

  test("a write that is asked for CSV", async () => {
    expect((await service.request("/write", { method: "PUT", headers: { accept: "text/csv" } })).status).toBe(406);
  });
});
