/** A string, a number that JSON lacks, a comma before a closing bracket, white space between tokens. */
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\b(?:nan|inf(?:inity)?)\b|,(?=\s*[\]}])|\s+/gi;

/**
 * JSON text from a database as valid JSON: DuckDB accepts NaN, infinities (both become null) and a comma
 * before a closing bracket. Line breaks between tokens are removed. What is not JSON becomes a JSON string.
 */
export function cleanJson(text: string): string {
  if (isJson(text)) return /[\n\r]/.test(text) ? cleaned(text) : text;
  const repaired = cleaned(text);
  return isJson(repaired) ? repaired : JSON.stringify(text);
}

function cleaned(text: string): string {
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
