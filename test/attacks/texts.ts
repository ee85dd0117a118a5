import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Texts by class, as a collection keeps them. */
export type Collection = Readonly<Record<string, readonly string[]>>;

function read(path: string): Collection {
  return JSON.parse(readFileSync(join(import.meta.dirname, path), "utf8"));
}

/**
 * What attackers send. `@FILE@` stands for a file that must not be read, `@FOLDER@` for a folder in which nothing may be
 * written, `canary` and `secret_rows` are tables of the service under attack.
 */
export const attacks: Collection = read("attacks.json");

/** What honest people send. None of it is ever refused. */
export const honestTexts: Collection = read("../legitimate-inputs/honest-texts.json");

/** Classes of attacks that preventSqlInjection rejects completely. */
export const refusedClasses = ["tautologies", "stacked statements", "union", "extensions and secrets"] as const;

export function everyText(collection: Collection): readonly string[] {
  return Object.values(collection).flat();
}
