import type { Problem } from "../config/problem.ts";
import type { EmbeddedEngine } from "../engines/embedded-engine.ts";
import type { LargeScan } from "../engines/large-scan.ts";
import type { Endpoint } from "./endpoint.ts";
import { sampleLookup, samplesOf } from "./samples.ts";
import { problemAt, renderSample, skipSpace } from "./template-check.ts";

/** Warnings about a read that transfers many rows from a database server, only to return a few. For a verified endpoint. */
export async function adviceOn(endpoint: Endpoint, engine: EmbeddedEngine): Promise<readonly Problem[]> {
  const { template, source, operation } = endpoint;
  if (template === undefined || source === undefined || operation.kind !== "read") return [];
  const check = { endpoint, template, source, engine, depth: "plan" } as const;
  const samples = samplesOf(endpoint, template);
  const scans = await Promise.all(
    samples.map(async (sample) => await engine.largeScans(renderSample(check, sampleLookup(sample)).statements)),
  );
  const found = new Map(scans.flat().map((scan) => [`${scan.server}\0${scan.table}`, scan]));
  return [...found.values()].map((scan) => {
    const isAlways = scans.every((each) => each.some(({ table }) => table === scan.table));
    const note = isAlways ? "" : " if not all of its parameters are set";
    return problemAt(source, offsetOf(scan.table, source.text), {
      severity: "warning",
      message: messageFor(scan, `each request${note}`),
    });
  });
}

/** Where the template names the table. */
function offsetOf(table: string, text: string): number {
  const at = text.toLowerCase().indexOf(table.toLowerCase());
  return at < 0 ? skipSpace(text, 0) : at;
}

function messageFor({ server, table, rows, cause }: LargeScan, request: string): string {
  const about = Number(rows.toPrecision(2)).toLocaleString("en");
  const functionName = server === "MySQL" ? "mysql_query" : "postgres_query";
  return `${request} reads about ${about} rows of '${table}' from ${server}, because DuckDB ${cause} itself; let ${server} run the query (${functionName}, with sql_literal around values), or cache it`;
}
