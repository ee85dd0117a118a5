import { isRecord, type JsonRecord, type JsonValue } from "../config/expected-value.ts";
import type { KeyPath } from "../config/problem.ts";
import type { Expectation } from "../config/test-files.ts";
import { type Difference, differencesOf, partDifferences, shorten } from "./differences.ts";
import type { TestResponse } from "./send-request.ts";

/** Where a response differs from what a test expects. The paths are those of keys below `expect`. */
export function checkResponse(expect: Expectation, response: TestResponse): readonly Difference[] {
  const { status, rows, totalCount, body, errors } = response;
  return [
    ...checkStatus(expect, response),
    ...checkRowCount(expect.rowCount, rows),
    ...at(["rows"], expect.rows, (expected) => differencesOf(expected, rows)),
    ...at(["total-count"], expect.totalCount, (expected) => differencesOf(expected, totalCount)),
    ...at(["columns"], expect.columns, (expected) => checkColumns(expected, rows)),
    ...at(["every-row"], expect.everyRow, (expected) => checkEveryRow(expected, rows)),
    ...at(["first-row"], expect.firstRow, (expected) => checkRow(expected, rows?.[0])),
    ...at(["body"], expect.body, (expected) => differencesOf(expected, body)),
    ...at(["errors"], expect.errors, (expected) =>
      errors === undefined
        ? [{ path: [], expected: shorten(expected), received: `status ${status}, ${shorten(body)}` }]
        : differencesOf(expected, errors),
    ),
  ];
}

function at<T>(path: KeyPath, expected: T | undefined, check: (expected: T) => readonly Difference[]): Difference[] {
  if (expected === undefined) return [];
  return check(expected).map((difference) => ({ ...difference, path: [...path, ...difference.path] }));
}

/** Without a status, any success is expected, or 400 if there must be errors. */
function checkStatus({ status: wanted, errors }: Expectation, { status, body }: TestResponse): readonly Difference[] {
  const expected = wanted ?? (errors === undefined ? undefined : 400);
  const isExpected = expected === undefined ? status >= 200 && status < 300 : status === expected;
  if (isExpected) return [];
  const received = status < 400 ? String(status) : `${status}, ${shorten(body)}`;
  return [{ path: ["status"], expected: String(expected ?? "200 to 299"), received }];
}

function checkRowCount(expected: number | undefined, rows: readonly JsonValue[] | undefined): readonly Difference[] {
  if (expected === undefined || rows?.length === expected) return [];
  const received = rows === undefined ? "no rows" : `${rows.length} rows`;
  return [{ path: ["rows"], expected: `${expected} rows`, received }];
}

function checkColumns(expected: readonly string[], rows: readonly JsonValue[] | undefined): readonly Difference[] {
  const [first] = rows ?? [];
  if (isRecord(first)) return differencesOf(expected, Object.keys(first));
  return [{ path: [], expected: shorten(expected), received: "no row" }];
}

/** One difference per column is enough. */
function checkEveryRow(expected: JsonRecord, rows: readonly JsonValue[] | undefined): readonly Difference[] {
  if (rows === undefined || rows.length === 0) return [{ path: [], expected: shorten(expected), received: "no row" }];
  const found = new Map<string, Difference>();
  for (const [index, row] of rows.entries()) {
    for (const difference of checkRow(expected, row)) {
      const key = String(difference.path[0]);
      const received = `${difference.received} in row ${index + 1}`;
      if (!found.has(key)) found.set(key, { ...difference, received });
    }
  }
  return [...found.values()];
}

function checkRow(expected: JsonRecord, row: JsonValue | undefined): readonly Difference[] {
  if (isRecord(row)) return partDifferences(expected, row);
  return [{ path: [], expected: shorten(expected), received: "no row" }];
}
