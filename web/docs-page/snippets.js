/**
 * Code samples. Values are quoted by the rules of each language, so that they cannot become code. Passwords and tokens are
 * omitted: curl prompts for a password, the other samples have a variable.
 */

const AUTHORIZATION = "Authorization";

/** The other headers, the kind of authentication ("basic", "bearer" or undefined), and the user name. */
function splitCredentials({ headers }, signIn) {
  return {
    otherHeaders: headers.filter(([name]) => name !== AUTHORIZATION),
    kind: signIn?.kind,
    user: signIn?.user ?? "",
  };
}

/** Between single quotes, only the quote itself is special to a shell. */
const quoteForShell = (text) => `'${text.replaceAll("'", "'\\''")}'`;

function curl(request, signIn) {
  const { otherHeaders, kind, user } = splitCredentials(request, signIn);
  const parts = [quoteForShell(request.url)];
  if (request.method !== "GET") parts.unshift(`-X ${request.method}`);
  // By default, curl treats brackets and braces as patterns.
  if (/[[\]{}]/.test(request.url)) parts.unshift("--globoff");
  if (kind === "basic") parts.push(`--user ${quoteForShell(user)}`);
  if (kind === "bearer") parts.push('-H "Authorization: Bearer $TOKEN"');
  // To send a header without a value, curl requires a semicolon. With a colon, it omits the header.
  for (const [name, value] of otherHeaders)
    parts.push(`-H ${quoteForShell(value === "" ? `${name};` : `${name}: ${value}`)}`);
  // Unlike --data, --data-raw does not read a file if the body starts with @.
  if (request.body !== undefined) parts.push(`--data-raw ${quoteForShell(request.body)}`);
  return `curl ${parts.join(" \\\n  ")}`;
}

/** JSON strings are valid JavaScript, since ES2019 including U+2028 and U+2029. */
const javascriptText = (text) => JSON.stringify(text);

/** Writes text of several lines as a template literal, with special characters escaped. */
function javascriptLines(text) {
  if (!text.includes("\n")) return javascriptText(text);
  return `\`${text.replace(/[\\`]|\$(?=\{)/g, "\\$&").replaceAll("\r", "\\r")}\``;
}

function javascript(request, signIn) {
  const { otherHeaders, kind, user } = splitCredentials(request, signIn);
  const headers = otherHeaders.map(([name, value]) => `    ${javascriptText(name)}: ${javascriptText(value)},`);
  const before = [];
  if (kind === "basic") {
    before.push('const password = "";');
    before.push(`const bytes = new TextEncoder().encode(${javascriptText(`${user}:`)} + password);`);
    headers.unshift('    "Authorization": "Basic " + btoa(String.fromCharCode(...bytes)),');
  }
  if (kind === "bearer") {
    before.push('const token = "";');
    headers.unshift('    "Authorization": "Bearer " + token,');
  }
  if (request.body !== undefined) before.push(`const body = ${javascriptLines(request.body)};`);
  const options = [];
  if (request.method !== "GET") options.push(`  method: "${request.method}",`);
  if (headers.length > 0) options.push("  headers: {", ...headers, "  },");
  if (request.body !== undefined) options.push("  body,");
  const url = javascriptText(request.url);
  const call = options.length === 0 ? [`fetch(${url});`] : [`fetch(${url}, {`, ...options, "});"];
  return [
    ...before,
    `const response = await ${call.join("\n")}`,
    "console.log(response.status, await response.text());",
  ].join("\n");
}

/** JSON strings are valid Python, except for the control character U+007F. */
const pythonText = (text) => JSON.stringify(text).replaceAll("\u007f", "\\x7f");

function pythonLines(text) {
  if (!text.includes("\n")) return pythonText(text);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: Python strings must not contain them.
  const escaped = text.replace(/[\\']/g, "\\$&").replace(/[\0-\x08\x0b-\x1f\x7f]/g, hex);
  return `'''${escaped}'''`;
}

const hex = (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}`;

function python(request, signIn) {
  const { otherHeaders, kind, user } = splitCredentials(request, signIn);
  const headers = otherHeaders.map(([name, value]) => `        ${pythonText(name)}: ${pythonText(value)},`);
  const before = ["import requests", ""];
  if (kind === "basic") before.push('password = ""');
  if (kind === "bearer") {
    before.push('token = ""');
    headers.unshift('        "Authorization": "Bearer " + token,');
  }
  if (request.body !== undefined) before.push(`body = ${pythonLines(request.body)}`);
  const lines = [`    "${request.method}",`, `    ${pythonText(request.url)},`];
  if (kind === "basic") lines.push(`    auth=(${pythonText(user)}.encode(), password.encode()),`);
  if (headers.length > 0) lines.push("    headers={", ...headers, "    },");
  if (request.body !== undefined) lines.push("    data=body.encode(),");
  return [...before, "response = requests.request(", ...lines, ")", "print(response.status_code, response.text)"].join(
    "\n",
  );
}

/** The languages, in the order of their tabs. */
export const LANGUAGES = [
  { name: "curl", label: "curl", write: curl },
  { name: "javascript", label: "JavaScript", write: javascript },
  { name: "python", label: "Python", write: python },
];
