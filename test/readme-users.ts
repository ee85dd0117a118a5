import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { codesOf, tablesOf } from "./markdown.ts";

/** The users of an example and their passwords, from the table in its README whose first columns are User and Password. */
export function readmeUsers(folder: string): ReadonlyMap<string, string> {
  const file = join(folder, "README.md");
  const tables = existsSync(file) ? tablesOf(readFileSync(file, "utf8")) : [];
  const rows = tables
    .filter(({ header }) => header[0] === "User" && header[1] === "Password")
    .flatMap((table) => table.rows);
  return new Map(rows.map(([user = "", password = ""]) => [codesOf(user)[0] ?? "", codesOf(password)[0] ?? ""]));
}

/** The `Authorization` header for HTTP Basic. */
export function basicHeader(username: string, password: string): { readonly Authorization: string } {
  return { Authorization: `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}` };
}
