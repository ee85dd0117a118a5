// The cost of counting a call: the plain numbers of Eider compared with the Counter and Histogram of prom-client.
//   npm run build && node bench/metrics.mjs
// EIDER_BENCH_ROUNDS (default 7) sets the rounds after warm-up.
import { Counter, Histogram, Registry } from "prom-client";
import { eachPhase, openMarks } from "../dist/calls/call-marks.js";
import { openCallCounts } from "../dist/metrics/call-counts.js";
import { callBounds } from "../dist/metrics/timings.js";

const ROUNDS = Number(process.env.EIDER_BENCH_ROUNDS ?? 7);
const CALLS = 200_000;
const ENDPOINTS = Array.from({ length: 100 }, (_, index) => `GET /things/${index}/:id`);

/** The same metrics with prom-client. */
function promClient() {
  const registers = [new Registry()];
  const labelNames = ["endpoint", "surface"];
  const counter = (name, ...more) => new Counter({ name, help: name, labelNames: [...labelNames, ...more], registers });
  const histogram = (name, names) =>
    new Histogram({ name, help: name, labelNames: names, buckets: [...callBounds], registers });
  const requests = counter("requests", "status", "format");
  const durations = histogram("durations", labelNames);
  const phaseDurations = histogram("phase_durations", ["phase"]);
  const phaseSeconds = counter("phase_seconds", "phase");
  const rows = counter("rows");
  const bytes = counter("bytes");
  return (call, { status, durationMs }) => {
    const { endpoint, surface, format } = call;
    const labels = { endpoint, surface };
    requests.inc({ endpoint, surface, status, format });
    durations.observe(labels, durationMs / 1000);
    rows.inc(labels, call.rows);
    bytes.inc(labels, call.bytes);
    if (call.marks === undefined) return;
    eachPhase(call, call.startedAt + durationMs, (phase, from, to) => {
      phaseDurations.observe({ phase }, (to - from) / 1000);
      phaseSeconds.inc({ endpoint, surface, phase }, (to - from) / 1000);
    });
  };
}

const candidates = { ours: openCallCounts().observer.ended, "prom-client": promClient() };

/** A call that was served from memory, or a call that ran a query. */
function callOf(index, ranQuery) {
  const startedAt = index;
  const marks = Object.assign(
    openMarks(() => 1),
    { validated: index + 0.1, prepared: index + 0.2, rendered: index + 0.3, entered: index + 0.4, firstRow: index + 2 },
  );
  return {
    surface: "rest",
    endpoint: ENDPOINTS[index % ENDPOINTS.length],
    startedAt,
    rows: 10,
    bytes: 500,
    format: "json",
    marks: ranQuery ? marks : undefined,
  };
}

const lines = [];
for (const ranQuery of [false, true]) {
  const calls = Array.from({ length: 1_000 }, (_, index) => callOf(index, ranQuery));
  const times = { ours: [], "prom-client": [] };
  for (let round = 0; round < ROUNDS + 2; round++) {
    const names = Object.keys(candidates);
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const count = candidates[name];
      const from = performance.now();
      for (let index = 0; index < CALLS; index++) count(calls[index % calls.length], { status: 200, durationMs: 3 });
      if (round >= 2) times[name].push(performance.now() - from);
    }
  }
  for (const name of Object.keys(candidates)) {
    const ms = times[name].toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)];
    lines.push({ name, ranQuery, ms });
  }
}
for (const { name, ranQuery, ms } of lines) {
  const what = ranQuery ? "a call that ran a query" : "a call from memory";
  console.log(`${what}, ${name}: ${((ms * 1e3) / CALLS).toFixed(2)} µs, ${Math.round(CALLS / ms)} thousand a second`);
}
