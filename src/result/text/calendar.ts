/** Writes dates, times and durations as ISO 8601 text. The parameters are explained in digits.ts. */

import { writeFour, writeInteger, writeNatural, writePadded, writeText, writeTwo } from "./digits.ts";

/** The maximum number of bytes of each text. */
export const DATE_WIDTH = 16;
export const TIME_WIDTH = 18;
export const TIMETZ_WIDTH = 24;
export const TIMESTAMP_WIDTH = 40;
export const INTERVAL_WIDTH = 64;

const TWO_32 = 0x1_0000_0000;
const DASH = 45;
const PLUS = 43;
const POINT = 46;
const ZED = 90;
const TEE = 84;
const INFINITE_DAYS = 2_147_483_647;
const DAY_SECONDS = 86_400;

export type Unit = "s" | "ms" | "us" | "ns";

/** Units in a second. */
const PER_SECOND: Readonly<Record<Unit, number>> = { s: 1, ms: 1000, us: 1_000_000, ns: 1_000_000_000 };
/** The number of digits in the fraction of a second. */
const FRACTION: Readonly<Record<Unit, number>> = { s: 0, ms: 3, us: 6, ns: 9 };

/** `2024-02-29`, `-0043-03-15` (44 BC), `+10000-01-01`, `infinity`. */
export function writeDate(out: DataView, at: number, days: number): number {
  if (days >= 0 && days < CIVIL_CACHE.length) {
    const civil = CIVIL_CACHE[days] || civilOf(days);
    CIVIL_CACHE[days] = civil;
    return writeMonthAndDay(out, writeFour(out, at, civil >> 9), civil);
  }
  if (days === INFINITE_DAYS) return writeText(out, at, "infinity");
  if (days === -INFINITE_DAYS) return writeText(out, at, "-infinity");
  const civil = civilOf(days);
  const year = Math.floor(civil / 512);
  return writeMonthAndDay(
    out,
    year >= 0 && year <= 9999 ? writeFour(out, at, year) : writeFarYear(out, at, year),
    civil,
  );
}

/** A cache of `civilOf` for 1970 to 2149. Halves the cost of a timestamp. */
const CIVIL_CACHE = new Int32Array(0x1_0000);

/** A date of the proleptic Gregorian calendar as year * 512 + month * 32 + day. */
function civilOf(days: number): number {
  // Counts in eras of 400 years (146,097 days) whose years begin on 1 March, so that a leap day is the last day of its year.
  const shifted = days + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = Math.trunc(
    (dayOfEra - Math.trunc(dayOfEra / 1460) + Math.trunc(dayOfEra / 36_524) - Math.trunc(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.trunc(yearOfEra / 4) - Math.trunc(yearOfEra / 100));
  const monthFromMarch = Math.trunc((5 * dayOfYear + 2) / 153);
  const month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  return year * 512 + month * 32 + (dayOfYear - Math.trunc((153 * monthFromMarch + 2) / 5) + 1);
}

/** `-02-` for each month, four characters in one number. */
const DASHED_MONTHS = Uint32Array.from({ length: 13 }, (_, month) => fourCharacters(`-${twoDigits(month)}-`));
const COLONED_MINUTES = Uint32Array.from({ length: 60 }, (_, minute) => fourCharacters(`:${twoDigits(minute)}:`));

function fourCharacters(text: string): number {
  return Buffer.from(text).readUInt32LE(0);
}

function twoDigits(value: number): string {
  return String(value).padStart(2, "0");
}

function writeMonthAndDay(out: DataView, at: number, civil: number): number {
  out.setUint32(at, DASHED_MONTHS[(civil >> 5) & 15] ?? 0, true);
  return writeTwo(out, at + 4, civil & 31);
}

function writeFarYear(out: DataView, at: number, year: number): number {
  out.setUint8(at, year < 0 ? DASH : PLUS);
  const distance = Math.abs(year);
  return distance <= 9999 ? writeFour(out, at + 1, distance) : writeNatural(out, at + 1, distance);
}

/** Writes a second of the day as `HH:MM:SS`. 86,400 is `24:00:00`. */
function writeClock(out: DataView, at: number, secondOfDay: number): number {
  const hours = (secondOfDay / 3600) | 0;
  const rest = secondOfDay - hours * 3600;
  const minutes = (rest / 60) | 0;
  writeTwo(out, at, hours);
  out.setUint32(at + 2, COLONED_MINUTES[minutes] ?? 0, true);
  return writeTwo(out, at + 6, rest - minutes * 60);
}

/** Writes nothing for zero, otherwise a point and `width` digits. */
function writeFraction(out: DataView, at: number, value: number, width: number): number {
  if (value === 0) return at;
  out.setUint8(at, POINT);
  if (width !== 6) return writePadded(out, at + 1, value, width);
  const high = (value / 10_000) | 0;
  writeTwo(out, at + 1, high);
  return writeFour(out, at + 3, value - high * 10_000);
}

/** Creates a writer of `HH:MM:SS[.fff]` for int64 units since midnight. */
export function timeWriter(unit: Unit): ValueWriter {
  const perSecond = PER_SECOND[unit];
  const width = FRACTION[unit];
  return (out, at, data, offset) => {
    const value = data.getUint32(offset + 4, true) * TWO_32 + data.getUint32(offset, true);
    const seconds = Math.floor(value / perSecond);
    return writeFraction(out, writeClock(out, at, seconds), value - seconds * perSecond, width);
  };
}

/** Writes the value at `offset` of `data` to `out`. */
export type ValueWriter = (out: DataView, at: number, data: DataView, offset: number) => number;

/** Creates a writer of `YYYY-MM-DDTHH:MM:SS[.fff]` for int64 units since 1970-01-01. Adds `Z` if zoned. */
export function timestampWriter(unit: Unit, zone: "zoned" | "local"): ValueWriter {
  const perSecond = PER_SECOND[unit];
  const width = FRACTION[unit];
  return (out, at, data, offset) => {
    const high = data.getInt32(offset + 4, true);
    const low = data.getUint32(offset, true);
    if (high === 0x7fff_ffff && low === 0xffff_ffff) return writeText(out, at, "infinity");
    if (high === -0x8000_0000 && low === 1) return writeText(out, at, "-infinity");
    const value = high * TWO_32 + low;
    // Beyond 2^53, `value` is rounded, so `seconds` may be off by one. `rest` is exact modulo 2^32, which reveals such an
    // error. `seconds` itself stays far below 2^53.
    let seconds = Math.floor(value / perSecond);
    let rest = perSecond === 1 ? 0 : (low - Math.imul(seconds, perSecond)) | 0;
    if (rest < 0) {
      seconds -= 1;
      rest += perSecond;
    } else if (rest >= perSecond) {
      seconds += 1;
      rest -= perSecond;
    }
    const day = Math.floor(seconds / DAY_SECONDS) | 0;
    const dateEnd = writeDate(out, at, day);
    out.setUint8(dateEnd, TEE);
    const clockEnd = writeClock(out, dateEnd + 1, (seconds - day * DAY_SECONDS) | 0);
    const end = rest === 0 ? clockEnd : writeFraction(out, clockEnd, rest, width);
    if (zone === "local") return end;
    out.setUint8(end, ZED);
    return end + 1;
  };
}

const writeMicros = timeWriter("us");

/** Writes a time of day and its offset: `Z`, `+05:30`, `-15:59:59`. column.ts describes the 16 bytes. */
export function writeTimeWithZone(out: DataView, at: number, data: DataView, offset: number): number {
  const end = writeMicros(out, at, data, offset);
  const east = data.getInt32(offset + 8, true);
  if (east === 0) {
    out.setUint8(end, ZED);
    return end + 1;
  }
  out.setUint8(end, east < 0 ? DASH : PLUS);
  const clockEnd = writeClock(out, end + 1, Math.abs(east));
  return east % 60 === 0 ? clockEnd - 3 : clockEnd;
}

/** Writes an ISO 8601 duration. Each part has its own sign (`P1Y-2M`). Zero is `PT0S`. column.ts describes the 16 bytes. */
export function writeInterval(out: DataView, at: number, data: DataView, offset: number): number {
  const months = data.getInt32(offset, true);
  const days = data.getInt32(offset + 4, true);
  const micros = data.getBigInt64(offset + 8, true);
  if (months === 0 && days === 0 && micros === 0n) return writeText(out, at, "PT0S");
  let end = writeText(out, at, "P");
  end = writePart(out, end, Math.trunc(months / 12), "Y");
  end = writePart(out, end, months % 12, "M");
  end = writePart(out, end, days, "D");
  if (micros === 0n) return end;
  const seconds = Number(micros / 1_000_000n);
  end = writeText(out, end, "T");
  end = writePart(out, end, Math.trunc(seconds / 3600), "H");
  end = writePart(out, end, Math.trunc((seconds % 3600) / 60), "M");
  return writeSeconds(out, end, seconds % 60, Number(micros % 1_000_000n));
}

function writePart(out: DataView, at: number, value: number, letter: string): number {
  return value === 0 ? at : writeText(out, writeInteger(out, at, value), letter);
}

function writeSeconds(out: DataView, at: number, seconds: number, micros: number): number {
  if (seconds === 0 && micros === 0) return at;
  const begin = seconds < 0 || micros < 0 ? writeText(out, at, "-") : at;
  const end = writeNatural(out, begin, Math.abs(seconds));
  return writeText(out, writeFraction(out, end, Math.abs(micros), 6), "S");
}
