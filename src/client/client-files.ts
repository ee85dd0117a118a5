import { readFile, writeFile } from "node:fs/promises";
import { resolve } from "node:path";

/** A part of the generated file that is the same for every project. */
export type RuntimePart = "api" | "call" | "exact-json";

/** The source code of a part, without imports. Only `api` keeps its exports. */
export async function runtimeText(part: RuntimePart): Promise<string> {
  const text = await readFile(new URL(`../client/runtime/${part}.ts`, import.meta.url), "utf8");
  const withoutImports = text.replaceAll(/^import [^;]*;\n+/gm, "");
  return part === "api" ? withoutImports : withoutImports.replaceAll(/^export /gm, "");
}

/** Writes a generated file. A relative path is resolved against `cwd`. */
export async function writeClient(file: string, cwd: string, text: string): Promise<void> {
  await writeFile(resolve(cwd, file), text);
}
