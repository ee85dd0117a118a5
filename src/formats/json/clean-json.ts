/** Matches strings, numbers that JSON does not allow, trailing commas, and white space. */
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\b(?:nan|inf(?:inity)?)\b|,(?=\s*[\]}])|\s+/gi;

/**
 * Converts JSON from a database to valid JSON. DuckDB accepts NaN and infinities, which become null, and trailing commas. Line
 * breaks between tokens are removed. Other invalid text becomes a JSON string.
 */
export function cleanJson(text: string): string {
  if (isJson(text)) return /[\n\r]/.test(text) ? cleanTokens(text) : text;
  const repaired = cleanTokens(text);
  return isJson(repaired) ? repaired : JSON.stringify(text);
}

function cleanTokens(text: string): string {
  return text.replace(TOKENS, (token) => {
    if (token.startsWith('"')) return token;
    return /^[,\s]/.test(token) ? "" : "null";
  });
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
