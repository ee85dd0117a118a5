/** Characters that are invisible or misleading in source code, and therefore escaped. */
const INVISIBLE = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** A string literal. */
export function literal(text: string): string {
  return escapeInvisible(JSON.stringify(text));
}

/** A name as a key in a type. */
export function typeKey(name: string): string {
  return /^[A-Za-z_$][A-Za-z0-9_$]*$/.test(name) ? name : literal(name);
}

/** A name as a key in an object literal. A plain `__proto__` would set the prototype. */
export function objectKey(name: string): string {
  return name === "__proto__" ? '["__proto__"]' : typeKey(name);
}

/** A doc comment with these paragraphs, ending with a line break. Empty if they contain no text. */
export function comment(paragraphs: readonly string[], indent = ""): string {
  const lines = paragraphs
    .flatMap((paragraph, index) => [...(index === 0 ? [] : [""]), ...paragraph.split(/\r\n|[\n\r\u2028\u2029]/)])
    .map((line) => escapeInvisible(line.trimEnd()).replaceAll("*/", "*\\/"));
  if (lines.every((line) => line === "")) return "";
  const [only = "", ...others] = lines;
  if (others.length === 0) return `${indent}/** ${only} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} *${line && ` ${line}`}\n`).join("")}${indent} */\n`;
}

/** The author's text, escaped so that `@` does not start a tag. */
export function prose(text: string): string {
  return text.trim().replaceAll(/(?<![\w.+-])@(?=\w)/g, "\\@");
}

function escapeInvisible(text: string): string {
  return text.replaceAll(INVISIBLE, (character) =>
    character
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}
