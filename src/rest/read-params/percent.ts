const ENCODED = /[%\u0080-\u00ff]/;
const RAW_BYTE = /[\u0080-\u00ff]/g;

/**
 * Percent-decoded text, or undefined when an escape is invalid or the bytes are not UTF-8. Node represents each byte beyond
 * ASCII as one character; these bytes are decoded as UTF-8 too.
 */
export function decodePercent(text: string): string | undefined {
  if (!ENCODED.test(text)) return text;
  try {
    return decodeURIComponent(text.replace(RAW_BYTE, encodeByte));
  } catch {
    return undefined;
  }
}

export function encodeByte(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
}
