import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type RawResponse, sendRequest } from "../ask.ts";
import { scrape } from "../prometheus.ts";
import { type Files, serviceFrom, type TestService } from "../service.ts";
import { until } from "../until.ts";

/** A row says what the template sees: `absent`, or the value in brackets. Of a thousand rows, fewer for an empty value. */
const SQL = `SELECT coalesce('[' || {{params.tenant}} || ']', 'absent') AS tenant, count(*) OVER ()::INTEGER AS n
FROM t WHERE id < CASE WHEN {{params.tenant}} = '' THEN 7 ELSE 9 END`;
const MAIN =
  "metrics: { public: true }\nconnections: { db: { init: CREATE TABLE t AS SELECT range AS id FROM range(1000) } }\n";

const fromMemory = (path: string): string => `eider_response_cache_hits_total{endpoint="GET ${path}",surface="rest"}`;

type Request = readonly [path: string, headers: Readonly<Record<string, string>>];

/** How a request carries the parameter: absent, empty or with a value. */
const LOCATIONS = {
  header: (path: string): readonly [absent: Request, empty: Request, full: Request] => [
    [path, {}],
    [path, { Tenant: "" }],
    [path, { Tenant: "a" }],
  ],
  query: (path: string): readonly [absent: Request, empty: Request, full: Request] => [
    [path, {}],
    [`${path}?tenant=`, {}],
    [`${path}?tenant=a`, {}],
  ],
} as const;
const locations = ["header", "query"] as const;

/** Where responses, rows and totals are remembered. */
const KINDS = [
  ["response cache", "with-pagination: false\n"],
  ["totals", ""],
  ["result cache", "with-pagination: false\ncache: { table: x, schedule: 1h }\n"],
  ["result cache with pages", "cache: { table: x, schedule: 1h }\n"],
] as const;

/** An endpoint whose parameter `tenant` is as `field` says. */
function endpoint(path: string, yaml: string, field: string, sql = SQL): Files {
  return {
    [`${path}.yaml`]: `url-path: ${path}\ntemplate-source: .${path}.sql\nconnection: [db]\n${yaml}request: [{ field-name: tenant, ${field} }]\n`,
    [`${path}.sql`]: sql,
  };
}

/** Slow enough for others to arrive meanwhile. */
const SLOW = `SELECT coalesce('[' || {{params.tenant}} || ']', 'absent') AS tenant, sum(hash(a.id + b.id))::VARCHAR AS n
FROM t a, t b, range(5)`;

let service: TestService;
beforeAll(async () => {
  const endpoints = locations.flatMap((location) => [
    ...KINDS.flatMap(([, yaml], kind) => {
      const own = yaml.replace("table: x", `table: ${location}_${kind}`);
      return [
        endpoint(
          `/required-${location}-${kind}`,
          own.replace("table: ", "table: required_"),
          `field-in: ${location}, required: true`,
        ),
        endpoint(`/${location}-${kind}`, own, `field-in: ${location}`),
      ];
    }),
    endpoint(`/slow-${location}`, "", `field-in: ${location}`, SLOW),
  ]);
  const member = "with-pagination: false\nrequest: [{ field-name: constructor, field-in: header, required: true }]\n";
  service = await serviceFrom({
    "eider.yaml": MAIN,
    ...Object.fromEntries(endpoints.flatMap((files) => Object.entries(files))),
    "member.yaml": `url-path: /member\ntemplate-source: member.sql\nconnection: [db]\n${member}`,
    "member.sql": "SELECT {{params.constructor}} AS tenant FROM t LIMIT 1",
  });
});
afterAll(() => service?.[Symbol.asyncDispose]());

function send([path, headers]: Request, more = {}): Promise<RawResponse> {
  return sendRequest(service.url + path, { headers: { ...headers, ...more } });
}

function rowsOf({ body }: RawResponse): { readonly tenant: string; readonly n: number } {
  const parsed = JSON.parse(body.toString());
  return (Array.isArray(parsed) ? parsed : parsed.data)[0];
}

describe.each(KINDS.map(([name], kind) => [name, kind] as const))("%s", (_, kind) => {
  test.each(locations)("a required %s stays required after empty ones were accepted", async (location) => {
    const path = `/required-${location}-${kind}`;
    const [absent, empty] = LOCATIONS[location](path);
    await until("a response from memory", async () => {
      const accepted = await send(empty);
      expect([accepted.status, rowsOf(accepted)]).toEqual([200, { tenant: "[]", n: 7 }]);
      return ((await scrape(service.url)).get(fromMemory(path)) ?? 0) > 0;
    });
    for (const __ of [1, 2, 3]) {
      const { status, body } = await send(absent);
      const message = "Required field is missing";
      expect([status, JSON.parse(body.toString())]).toEqual([400, { errors: [{ field: "tenant", message }] }]);
    }
    expect(rowsOf(await send(empty))).toEqual({ tenant: "[]", n: 7 });
  });

  test.each(locations)("an absent %s and an empty one have their own rows, totals and tags", async (location) => {
    const [absent, empty, full] = LOCATIONS[location](`/${location}-${kind}`);
    const expected = [
      [absent, { tenant: "absent", n: 9 }],
      [empty, { tenant: "[]", n: 7 }],
      [full, { tenant: "[a]", n: 9 }],
    ] as const;
    for (const round of [1, 2, 3]) {
      for (const [request, row] of round % 2 === 0 ? expected.toReversed() : expected) {
        const response = await send(request);
        expect(rowsOf(response)).toEqual(row);
        const total = response.headers["x-total-count"];
        expect(total ?? String(row.n)).toBe(String(row.n));
        const others = expected.filter(([other]) => other !== request);
        const known = await Promise.all(others.map(async ([other]) => (await send(other)).headers.etag));
        expect((await send(request, { "If-None-Match": known.join(", ") })).status).toBe(200);
      }
    }
  });
});

test.each(locations)("reads at the same time are not shared by an absent %s and an empty one", async (location) => {
  const [absent, empty, full] = LOCATIONS[location](`/slow-${location}`);
  const before = service.service.engine.savings().shared;
  const clients = [absent, empty, full, absent, empty, full, absent, empty, full] as const;
  let round = 0;
  await until("a read that was shared", async () => {
    round++;
    // Another address: none of these is in the response cache.
    const requests = clients.map(
      ([path, headers]) => [`${path}${path.includes("?") ? "&" : "?"}r=${round}`, headers] as const,
    );
    const seen = await Promise.all(requests.map(async (request) => rowsOf(await send(request)).tenant));
    expect(seen).toEqual(["absent", "[]", "[a]", "absent", "[]", "[a]", "absent", "[]", "[a]"]);
    return service.service.engine.savings().shared > before;
  });
});

test("a header whose name every object has a member of", async () => {
  const value = String(Object);
  await until("a response from memory", async () => {
    expect(rowsOf(await send(["/member", { Constructor: value }])).tenant).toBe(value);
    return ((await scrape(service.url)).get(fromMemory("/member")) ?? 0) > 0;
  });
  expect((await send(["/member", {}])).status).toBe(400);
});
