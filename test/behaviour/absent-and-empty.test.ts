import { describe, expect, test } from "vitest";
import { ask, type BareAnswer } from "../ask.ts";
import { scrape } from "../prometheus.ts";
import { type Files, serviceFrom, type TestService } from "../service.ts";
import { until } from "../until.ts";

/** A row says what the template sees: `absent`, or the value in brackets. Of a thousand rows, fewer for an empty value. */
const SQL = `SELECT coalesce('[' || {{params.tenant}} || ']', 'absent') AS tenant, count(*) OVER ()::INTEGER AS n
FROM t WHERE id < CASE WHEN {{params.tenant}} = '' THEN 7 ELSE 9 END`;
const MAIN =
  "metrics: { public: true }\nconnections: { db: { init: CREATE TABLE t AS SELECT range AS id FROM range(1000) } }\n";

const FROM_MEMORY = 'eider_response_cache_hits_total{endpoint="GET /x",surface="rest"}';

/** How a request carries the parameter: absent or empty. */
const LOCATIONS = {
  header: { absent: ["/x", {}], empty: ["/x", { Tenant: "" }], full: ["/x", { Tenant: "a" }] },
  query: { absent: ["/x", {}], empty: ["/x?tenant=", {}], full: ["/x?tenant=a", {}] },
} as const;
const locations = ["header", "query"] as const;

/** Where responses, rows and totals are remembered. */
const KINDS = [
  ["response cache", "with-pagination: false\n"],
  ["totals", ""],
  ["result cache", "with-pagination: false\ncache: { table: x, schedule: 1h }\n"],
  ["result cache with pages", "cache: { table: x, schedule: 1h }\n"],
] as const;

function files(yaml: string, request: string): Files {
  return {
    "eider.yaml": MAIN,
    "x.yaml": `url-path: /x\ntemplate-source: x.sql\nconnection: [db]\n${yaml}request: [{ field-name: tenant, ${request} }]\n`,
    "x.sql": SQL,
  };
}

function send(service: TestService, [path, headers]: readonly [string, object], more = {}): Promise<BareAnswer> {
  return ask(service.url + path, { headers: { ...headers, ...more } });
}

function rowsOf({ body }: BareAnswer): { readonly tenant: string; readonly n: number } {
  const parsed = JSON.parse(body.toString());
  return (Array.isArray(parsed) ? parsed : parsed.data)[0];
}

describe.each(KINDS)("%s", (_, yaml) => {
  test.each(locations)("a required %s stays required after empty ones were accepted", async (location) => {
    await using service = await serviceFrom(files(yaml, `field-in: ${location}, required: true`));
    const { absent, empty } = LOCATIONS[location];
    await until("a response from memory", async () => {
      const accepted = await send(service, empty);
      expect([accepted.status, rowsOf(accepted)]).toEqual([200, { tenant: "[]", n: 7 }]);
      return ((await scrape(service.url)).get(FROM_MEMORY) ?? 0) > 0;
    });
    for (const __ of [1, 2, 3]) {
      const { status, body } = await send(service, absent);
      const message = "Required field is missing";
      expect([status, JSON.parse(body.toString())]).toEqual([400, { errors: [{ field: "tenant", message }] }]);
    }
    expect(rowsOf(await send(service, empty))).toEqual({ tenant: "[]", n: 7 });
  });

  test.each(locations)("an absent %s and an empty one have their own rows, totals and tags", async (location) => {
    await using service = await serviceFrom(files(yaml, `field-in: ${location}`));
    const { absent, empty, full } = LOCATIONS[location];
    const expected = [
      [absent, { tenant: "absent", n: 9 }],
      [empty, { tenant: "[]", n: 7 }],
      [full, { tenant: "[a]", n: 9 }],
    ] as const;
    for (const round of [1, 2, 3, 4]) {
      for (const [request, row] of round % 2 === 0 ? expected.toReversed() : expected) {
        const response = await send(service, request);
        expect(rowsOf(response)).toEqual(row);
        const total = response.headers["x-total-count"];
        expect(total ?? String(row.n)).toBe(String(row.n));
        const others = expected.filter(([other]) => other !== request);
        const known = await Promise.all(others.map(async ([other]) => (await send(service, other)).headers.etag));
        expect((await send(service, request, { "If-None-Match": known.join(", ") })).status).toBe(200);
      }
    }
  });
});

test.each(locations)(
  "reads at the same time are not shared by an absent %s and an empty one",
  async (location) => {
    // Slow enough for the others to arrive meanwhile.
    const sql = `SELECT coalesce('[' || {{params.tenant}} || ']', 'absent') AS tenant, sum(hash(a.id + b.id))::VARCHAR AS n
FROM t a, t b, range(5)`;
    await using service = await serviceFrom({ ...files("", `field-in: ${location}`), "x.sql": sql });
    const { absent, empty, full } = LOCATIONS[location];
    const clients = [absent, empty, full, absent, empty, full, absent, empty, full] as const;
    let round = 0;
    await until("a read that was shared", async () => {
      round++;
      // Another address: none of these is in the response cache.
      const requests = clients.map(
        ([path, headers]) => [`${path}${path.includes("?") ? "&" : "?"}r=${round}`, headers] as const,
      );
      const seen = await Promise.all(requests.map(async (request) => rowsOf(await send(service, request)).tenant));
      expect(seen).toEqual(["absent", "[]", "[a]", "absent", "[]", "[a]", "absent", "[]", "[a]"]);
      return service.service.engine.savings().shared > 0;
    });
  },
  60_000,
);

test("a header whose name every object has a member of", async () => {
  await using service = await serviceFrom({
    "eider.yaml": MAIN,
    "x.yaml":
      "url-path: /x\ntemplate-source: x.sql\nconnection: [db]\nwith-pagination: false\nrequest: [{ field-name: constructor, field-in: header, required: true }]\n",
    "x.sql": "SELECT {{params.constructor}} AS tenant FROM t LIMIT 1",
  });
  const value = String(Object);
  await until("a response from memory", async () => {
    expect(rowsOf(await send(service, ["/x", { Constructor: value }])).tenant).toBe(value);
    return ((await scrape(service.url)).get(FROM_MEMORY) ?? 0) > 0;
  });
  expect((await send(service, ["/x", {}])).status).toBe(400);
});
