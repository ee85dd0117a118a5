import { isObject } from "./oidc/json.ts";
import type { User } from "./policy.ts";

const EXPECTED =
  'expected is JSON, {"auth": [{"username": "...", "password": "...", "roles": ["..."]}]} or {"<user>": "<password>"}';

/** The users in a secret. Throws an Error that quotes nothing of it. */
export function usersInSecret(content: string | Uint8Array): readonly User[] {
  const layout = parsed(content);
  if (!isObject(layout)) throw unfit("it is not an object");
  const { auth, ...others } = layout;
  const users = Array.isArray(auth) && Object.keys(others).length === 0 ? auth.map(userOf) : usersByName(layout);
  if (new Set(users.map(({ username }) => username)).size < users.length) throw unfit("two users have the same name");
  return users;
}

function parsed(content: string | Uint8Array): unknown {
  try {
    return JSON.parse(
      typeof content === "string" ? content : new TextDecoder("utf-8", { fatal: true }).decode(content),
    );
  } catch {
    // The parser's own message would quote the secret.
    throw unfit("it is not JSON");
  }
}

function userOf(entry: unknown, index: number): User {
  if (!isObject(entry)) throw unfit(`auth[${index}] is not an object`);
  const { username, password, roles } = entry;
  if (!isFilled(username)) throw unfit(`auth[${index}].username is not a text with something in it`);
  if (!isFilled(password)) throw unfit(`auth[${index}].password is not a text with something in it`);
  return { username, password, roles: rolesOf(roles, index) };
}

function rolesOf(roles: unknown, index: number): readonly string[] {
  if (roles === undefined || roles === null) return [];
  const list: readonly unknown[] = Array.isArray(roles) ? roles : [roles];
  if (!list.every(isFilled)) throw unfit(`auth[${index}].roles is neither a text nor a list of texts`);
  return list;
}

function usersByName(layout: Readonly<Record<string, unknown>>): readonly User[] {
  // A database login stored by AWS. It would be read as two users, one named 'username' with a known password.
  if ("username" in layout && "password" in layout) throw unfit("it holds one login and no list of users");
  return Object.entries(layout).map(([username, password]) => {
    if (!isFilled(username)) throw unfit("a user has no name");
    if (!isFilled(password)) throw unfit("a password is not a text with something in it");
    return { username, password, roles: [] };
  });
}

function isFilled(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function unfit(what: string): Error {
  return new Error(`${what}; ${EXPECTED}`);
}
