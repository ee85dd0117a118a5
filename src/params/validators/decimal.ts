/**
 * A decimal number, for exact comparison: 0.`digits` times ten to the `exponent`. The digits have no leading or trailing
 * zeros. Zero has no digits.
 */
interface Decimal {
  readonly negative: boolean;
  readonly digits: string;
  readonly exponent: number;
}

const PARTS = /^([+-]?)0*([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?$/;

/** Parses a string that matches `DECIMAL`. */
export function parseDecimal(text: string): Decimal {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = PARTS.exec(text) ?? [];
  const all = whole + fraction;
  const leading = countLeadingZeros(all);
  const digits = all.slice(leading, endWithoutZeros(all));
  if (digits === "") return { negative: false, digits, exponent: 0 };
  return { negative: sign === "-", digits, exponent: whole.length - leading + Number(exponent) };
}

/** Negative if `left` is less than `right`, positive if it is greater, otherwise zero. */
export function compareDecimals(left: Decimal, right: Decimal): number {
  const sign = signOf(left);
  if (sign !== signOf(right)) return sign - signOf(right);
  if (left.exponent !== right.exponent) return left.exponent < right.exponent ? -sign : sign;
  // Without trailing zeros, digits sort like strings.
  if (left.digits === right.digits) return 0;
  return left.digits < right.digits ? -sign : sign;
}

function signOf({ negative, digits }: Decimal): number {
  if (digits === "") return 0;
  return negative ? -1 : 1;
}

function countLeadingZeros(digits: string): number {
  let count = 0;
  while (digits.charCodeAt(count) === 48) count++;
  return count;
}

function endWithoutZeros(digits: string): number {
  let end = digits.length;
  while (digits.charCodeAt(end - 1) === 48) end--;
  return end;
}
