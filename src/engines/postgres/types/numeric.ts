/** Decimal digits per stored digit. */
const GROUP = 4;
const BASE = 10_000;
const NEGATIVE = 0x4000;
const SPECIAL: Readonly<Record<number, string>> = { 49152: "NaN", 53248: "Infinity", 61440: "-Infinity" };
/** A product of so many decimal digits is exact as a number. */
const EXACT_DIGITS = 15;

/** `NaN` or an infinity; undefined for a finite numeric. It begins at `start`. */
export function specialNumeric(bytes: Buffer, start: number): string | undefined {
  return SPECIAL[bytes.readUInt16BE(start + 4)];
}

/** The unscaled integer of a numeric with this scale or less: 1.5 with scale 2 is 150. A number where that is exact. */
export function unscaledNumeric(bytes: Buffer, start: number, scale: number): number | bigint {
  const count = bytes.readInt16BE(start);
  const exponent = GROUP * (bytes.readInt16BE(start + 2) - count + 1) + scale;
  const isNegative = bytes.readUInt16BE(start + 4) === NEGATIVE;
  if (count * GROUP + exponent <= EXACT_DIGITS && count <= 3) {
    let digits = 0;
    for (let i = 0; i < count; i++) digits = digits * BASE + bytes.readInt16BE(start + 8 + i * 2);
    const value = exponent >= 0 ? digits * 10 ** exponent : digits / 10 ** -exponent;
    return isNegative ? -value : value;
  }
  let digits = 0n;
  for (let i = 0; i < count; i++) digits = digits * 10_000n + BigInt(bytes.readInt16BE(start + 8 + i * 2));
  const value = exponent >= 0 ? digits * 10n ** BigInt(exponent) : digits / 10n ** BigInt(-exponent);
  return isNegative ? -value : value;
}

/** All digits of a numeric, as the server shows them. */
export function numericText(bytes: Buffer, start: number): string {
  const special = specialNumeric(bytes, start);
  if (special !== undefined) return special;
  const count = bytes.readInt16BE(start);
  const weight = bytes.readInt16BE(start + 2);
  const scale = bytes.readUInt16BE(start + 6);
  const group = (index: number): string =>
    String(index >= 0 && index < count ? bytes.readInt16BE(start + 8 + index * 2) : 0).padStart(GROUP, "0");
  let whole = "";
  for (let index = 0; index <= weight; index++) whole += group(index);
  let fraction = "";
  for (let index = weight + 1; fraction.length < scale; index++) fraction += group(index);
  const sign = bytes.readUInt16BE(start + 4) === NEGATIVE ? "-" : "";
  const digits = whole.replace(/^0+(?=\d)/, "") || "0";
  return scale === 0 ? sign + digits : `${sign}${digits}.${fraction.slice(0, scale)}`;
}
