import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { type Metrics, openMetrics } from "../src/metrics/open-metrics.ts";
import { tablesOf } from "./markdown.ts";
import { readMetrics } from "./prometheus.ts";
import { endpoint, serviceFrom } from "./service.ts";

const read = (file: string): string => readFileSync(join(import.meta.dirname, "..", file), "utf8");
const codesOf = (cell: string): readonly string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);
const page = read("docs/metrics.md");

/** Every metric that a process tells, with its type. */
let told: ReadonlyMap<string, string>;
let metrics: Metrics;

beforeAll(async () => {
  metrics = await openMetrics(() => new Date());
  metrics.watchProcess();
  const text = await metrics.text({
    project: { main: { connections: new Map() } },
    endpoints: [],
    engine: {
      activity: () => ({ running: 0, waiting: 0 }),
      savings: () => ({ shared: 0, knownTotals: 0 }),
      memory: async () => ({ used: 0, limit: 0, spilled: 0 }),
    },
    caches: { statuses: () => [] },
    connectionStatus: { down: () => new Map() },
    heartbeats: { statuses: () => [] },
  });
  told = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = "", type = ""]) => [name, type]));
});

describe("docs/metrics.md", () => {
  test("has every metric of ours, with its type, its labels and what it says of itself, and no other", () => {
    const [table] = tablesOf(page).filter(({ section }) => section === "Metrics");
    const rows = table?.rows.map(([name = "", type, labels = "", meaning]) => ({
      name: codesOf(name)[0],
      type,
      labels: codesOf(labels),
      help: meaning,
    }));
    expect(rows).toEqual(
      metrics.definitions.map(({ name, type, labelNames, help }) => ({ name, type, labels: labelNames, help })),
    );
  });

  test("has every metric of the process, and no other", () => {
    const [table] = tablesOf(page).filter(({ section }) => section === "Of the process");
    const written = table?.rows.flatMap(([names = ""]) => codesOf(names)) ?? [];
    expect(written.toSorted()).toEqual([...told.keys()].filter((name) => !name.startsWith("eider_")).toSorted());
  });
});

test("labels are those that are announced", async () => {
  await using service = await serviceFrom({
    "eider.yaml": "connections: { memory: {} }\nmetrics: { public: true }\ncache: {}\nheartbeat: {}\n",
    ...endpoint("SELECT 1 AS a", "cache: { schedule: 1h }\nheartbeat: {}\n"),
  });
  await (await service.get("/x")).text();
  await (await service.get("/nowhere")).text();
  const lines = [...readMetrics(await (await service.get("/metrics")).text()).keys()];
  const announced = new Map(metrics.definitions.map(({ name, labelNames }) => [name, labelNames]));
  for (const line of lines) {
    const [, written = "", labels = ""] = /^(\w+)(?:\{(.*)\})?$/.exec(line) ?? [];
    const name = announced.has(written) ? written : written.replace(/_(?:bucket|sum|count)$/, "");
    const found = [...labels.matchAll(/(\w+)="/g)].map(([, label = ""]) => label).filter((label) => label !== "le");
    expect([line, found]).toEqual([line, announced.get(name)]);
  }
});

interface Panel {
  readonly title: string;
  readonly type: string;
  readonly targets?: readonly { readonly expr: string }[];
}

describe("the dashboard", () => {
  const dashboard = JSON.parse(read("docs/grafana-dashboard.json")) as {
    readonly panels: readonly Panel[];
    readonly templating: { readonly list: readonly { readonly query: string }[] };
  };
  const queries = [
    ...dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
    ...dashboard.templating.list.map(({ query }) => query),
  ];
  const named = new Set(queries.flatMap((query) => query.match(/\b(?:eider|nodejs|process)_\w+/g) ?? []));

  test("names only metrics that there are", () => {
    expect(queries.length).toBeGreaterThan(20);
    const isTold = (name: string): boolean =>
      told.has(name) || told.get(name.replace(/_(?:bucket|sum|count)$/, "")) === "histogram";
    expect([...named].filter((name) => !isTold(name))).toEqual([]);
  });

  test("takes the rate of what only grows, and of nothing else", () => {
    for (const query of queries) {
      for (const [, name = ""] of query.matchAll(/rate\((\w+)/g)) {
        const type = told.get(name) ?? told.get(name.replace(/_bucket$/, ""));
        expect([query, type === "counter" || type === "histogram"]).toEqual([query, true]);
      }
      for (const name of query.match(/\beider_\w+_total\b/g) ?? []) {
        expect([query, query.includes(`rate(${name}`) || query.startsWith("label_values(")]).toEqual([query, true]);
      }
    }
  });

  test("shows most of what is ours", () => {
    const left = metrics.definitions.filter(
      ({ name }) => !named.has(name) && !named.has(`${name}_bucket`) && !named.has(`${name}_sum`),
    );
    // What is of use in a search, and not on a wall.
    expect(left.map(({ name }) => name)).toEqual([
      "eider_cache_refresh_failures_total",
      "eider_reloads_total",
      "eider_cache_rows",
      "eider_cache_snapshots",
      "eider_heartbeat_duration_seconds",
      "eider_heartbeat_runs_total",
      "eider_heartbeat_failures_total",
    ]);
  });
});
