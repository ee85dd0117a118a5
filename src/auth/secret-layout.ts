import { isObject } from "./oidc/json.ts";
import type { User } from "./policy.ts";

const EXPECTED =
  'expected JSON, {"auth": [{"username": "...", "password": "...", "roles": ["..."]}]} or {"<user>": "<password>"}';

/** The users in a secret. Throws an Error that quotes nothing from it. */
export function usersInSecret(content: string | Uint8Array): readonly User[] {
  const layout = parseJson(content);
  if (!isObject(layout)) throw layoutError("it is not an object");
  const { auth, ...others } = layout;
  const users = Array.isArray(auth) && Object.keys(others).length === 0 ? auth.map(userOf) : usersByName(layout);
  if (new Set(users.map(({ username }) => username)).size < users.length)
    throw layoutError("two users have the same name");
  return users;
}

function parseJson(content: string | Uint8Array): unknown {
  try {
    return JSON.parse(
      typeof content === "string" ? content : new TextDecoder("utf-8", { fatal: true }).decode(content),
    );
  } catch {
    // The parser's own message would quote the secret.
    throw layoutError("it is not JSON");
  }
}

function userOf(entry: unknown, index: number): User {
  if (!isObject(entry)) throw layoutError(`auth[${index}] is not an object`);
  const { username, password, roles } = entry;
  if (!isNonEmptyString(username)) throw layoutError(`auth[${index}].username is not a non-empty string`);
  if (!isNonEmptyString(password)) throw layoutError(`auth[${index}].password is not a non-empty string`);
  return { username, password, roles: rolesOf(roles, index) };
}

function rolesOf(roles: unknown, index: number): readonly string[] {
  if (roles === undefined || roles === null) return [];
  const list: readonly unknown[] = Array.isArray(roles) ? roles : [roles];
  if (!list.every(isNonEmptyString))
    throw layoutError(`auth[${index}].roles is neither a string nor a list of strings`);
  return list;
}

function usersByName(layout: Readonly<Record<string, unknown>>): readonly User[] {
  // A database login stored by AWS. It would be read as two users, one named 'username' whose password is not secret.
  if ("username" in layout && "password" in layout)
    throw layoutError("it contains a single login instead of a list of users");
  return Object.entries(layout).map(([username, password]) => {
    if (!isNonEmptyString(username)) throw layoutError("a user has no name");
    if (!isNonEmptyString(password)) throw layoutError("a password is not a non-empty string");
    return { username, password, roles: [] };
  });
}

function isNonEmptyString(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function layoutError(what: string): Error {
  return new Error(`${what}; ${EXPECTED}`);
}
