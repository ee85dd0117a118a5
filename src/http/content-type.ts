// One parameter after the media type: `; charset=utf-8`, `; profile="a;b"`.
const PARAMETER = /\s*;\s*(?:([^\s;="]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*)))?/y;

/** True for `application/json` with any parameters, but no charset other than UTF-8. */
export function isJsonContentType(header: string | undefined): boolean {
  // Most clients send exactly this.
  if (header === "application/json") return true;
  if (header === undefined) return false;
  const semicolon = header.indexOf(";");
  const mediaType = semicolon === -1 ? header : header.slice(0, semicolon);
  if (mediaType.trim().toLowerCase() !== "application/json") return false;
  if (semicolon === -1) return true;
  const parameters = header.trimEnd();
  PARAMETER.lastIndex = semicolon;
  while (PARAMETER.lastIndex < parameters.length) {
    const match = PARAMETER.exec(parameters);
    if (match === null) return false;
    if (match[1]?.toLowerCase() === "charset" && !isUtf8(match[2] ?? match[3] ?? "")) return false;
  }
  return true;
}

function isUtf8(charset: string): boolean {
  const name = charset.toLowerCase();
  return name === "utf-8" || name === "utf8";
}
