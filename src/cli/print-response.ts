import { parseExact } from "../client/runtime/exact-json.ts";
import type { InProcessResponse } from "../http/in-process.ts";
import { escapeUnprintable, escapeUnprintableInLines } from "../printable.ts";
import type { Runtime } from "./command.ts";
import { printTable } from "./print-table.ts";

/** Headers of the connection, not of the response. */
const CONNECTION_HEADERS: ReadonlySet<string> = new Set(["connection", "date", "keep-alive", "transfer-encoding"]);

type Outputs = Pick<Runtime, "stdout" | "stderr" | "writeBytes">;

/** Prints the status and the headers to standard error, on one line. */
export function printHead({ status, statusText, headers }: InProcessResponse, { stderr }: Outputs): void {
  const fields = ownHeaders(headers).map(([name, value]) => `${name}: ${value}`);
  stderr.write(`${escapeUnprintable([`${status} ${statusText}`, ...fields].join("; "))}\n`);
}

/** Prints the body as it is. Stops when nothing reads it any more. */
export async function printBody({ body }: InProcessResponse, { stdout, writeBytes }: Outputs): Promise<void> {
  let last: number | undefined;
  for await (const bytes of body) {
    if (!(await writeBytes(bytes))) return;
    last = bytes.at(-1) ?? last;
  }
  if (stdout.isTerminal && last !== undefined && last !== LINE_FEED) stdout.write("\n");
}

const LINE_FEED = 10;

/** Prints the rows of a JSON response as a table, and anything else as it is. */
export async function printRows(response: InProcessResponse, outputs: Outputs): Promise<void> {
  const text = (await gather(response)).toString();
  const found = isJson(response) && response.status < 300 ? tableOf(parseExact(text, "text")) : undefined;
  if (found === undefined) {
    outputs.stdout.write(`${escapeUnprintableInLines(text)}\n`);
    return;
  }
  const { rows, summary } = found;
  const columns = [...new Set(rows.flatMap(Object.keys))];
  printTable(
    columns.map(escapeUnprintable),
    rows.map((row) => columns.map((column) => cellOf(row[column]))),
    outputs.stdout,
  );
  outputs.stderr.write(`${escapeUnprintable(summary)}\n`);
}

type Row = Readonly<Record<string, unknown>>;

interface Table {
  readonly rows: readonly Row[];
  readonly summary: string;
}

/** The rows of a response: a list, a page, one object, or the rows of a write. */
function tableOf(value: unknown): Table | undefined {
  if (Array.isArray(value)) return value.every(isRow) ? { rows: value, summary: countOf(value.length) } : undefined;
  if (!isRow(value)) return undefined;
  const { data, total_count: total, next, rows_affected: affected } = value;
  const rows = Array.isArray(data) ? data : isRow(data) ? [data] : undefined;
  if (rows === undefined || !rows.every(isRow)) return { rows: [value], summary: countOf(1) };
  if (affected !== undefined) return { rows, summary: `${affected} rows affected` };
  const more = typeof next === "string" && next !== "" ? `; next: ${next}` : "";
  return {
    rows,
    summary: total === undefined ? countOf(rows.length) : `${rows.length} of ${countOf(Number(total))}${more}`,
  };
}

function countOf(count: number): string {
  return `${count} row${count === 1 ? "" : "s"}`;
}

function isRow(value: unknown): value is Row {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  return escapeUnprintable(typeof value === "string" ? value : JSON.stringify(value));
}

/** Prints status, headers and body as one JSON document. Numbers in a JSON body keep all their digits. */
export async function printAsJson(response: InProcessResponse, { stdout }: Outputs): Promise<void> {
  const { status, headers } = response;
  const bytes = await gather(response);
  const names = Object.fromEntries(ownHeaders(headers).map(([name, value]) => [name.toLowerCase(), value]));
  stdout.write(`{"status":${status},"headers":${JSON.stringify(names)},${bodyMember(bytes, isJson(response))}}\n`);
}

function bodyMember(bytes: Buffer, isJsonBody: boolean): string {
  if (bytes.length === 0) return '"body":null';
  if (isJsonBody) return `"body":${escapeUnprintableInLines(bytes.toString())}`;
  const text = bytes.toString();
  return Buffer.from(text).equals(bytes)
    ? `"body":${JSON.stringify(text)}`
    : `"encoding":"base64","body":${JSON.stringify(bytes.toString("base64"))}`;
}

function ownHeaders(headers: InProcessResponse["headers"]): InProcessResponse["headers"] {
  return headers.filter(([name]) => !CONNECTION_HEADERS.has(name.toLowerCase()));
}

function isJson({ headers }: InProcessResponse): boolean {
  return headers.some(([name, value]) => name.toLowerCase() === "content-type" && /^application\/json\b/.test(value));
}

async function gather({ body }: InProcessResponse): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return Buffer.concat(pieces);
}
