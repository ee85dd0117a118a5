import { isRecord, type JsonRecord, type JsonValue, jsonText } from "../config/expected-value.ts";
import type { KeyPath } from "../config/problem.ts";

/** A value that is not as expected. */
export interface Difference {
  /** Its path below the compared value. */
  readonly path: KeyPath;
  readonly expected: string;
  readonly received: string;
}

const NOTHING = "nothing";

/** Where two values differ. */
export function differencesOf(expected: JsonValue, received: JsonValue | undefined, path: KeyPath = []): Difference[] {
  if (Array.isArray(expected) && Array.isArray(received)) return listDifferences(expected, received, path);
  if (isRecord(expected) && isRecord(received)) {
    const extra = Object.keys(received).filter((key) => !Object.hasOwn(expected, key));
    return [
      ...partDifferences(expected, received, path),
      ...extra.map((key) => ({ path: [...path, key], expected: NOTHING, received: shorten(received[key]) })),
    ];
  }
  return isSame(expected, received) ? [] : [{ path, expected: shorten(expected), received: shorten(received) }];
}

/** Where the expected parts of an object differ. It may have others. */
export function partDifferences(expected: JsonRecord, received: JsonRecord, path: KeyPath = []): Difference[] {
  return Object.entries(expected).flatMap(([key, value]) =>
    Object.hasOwn(received, key)
      ? differencesOf(value, received[key], [...path, key])
      : [{ path: [...path, key], expected: shorten(value), received: NOTHING }],
  );
}

function listDifferences(expected: readonly JsonValue[], received: readonly JsonValue[], path: KeyPath): Difference[] {
  const common = expected.slice(0, received.length);
  const found = common.flatMap((value, index) => differencesOf(value, received[index], [...path, index]));
  const missing = expected.slice(received.length).map((value, index) => ({
    path: [...path, received.length + index],
    expected: shorten(value),
    received: NOTHING,
  }));
  const extra = received.slice(expected.length).map((value, index) => ({
    path: [...path, expected.length + index],
    expected: NOTHING,
    received: shorten(value),
  }));
  return [...found, ...missing, ...extra];
}

function isSame(expected: JsonValue, received: JsonValue | undefined): boolean {
  return Object.is(expected, received) || (expected === 0 && received === 0);
}

const LONGEST = 200;

export function shorten(value: JsonValue | undefined): string {
  const text = value === undefined ? NOTHING : jsonText(value);
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}...`;
}
