import { RequestFailure } from "../../failure.ts";
import type { Caller } from "../caller.ts";
import type { RoleClaim } from "./options.ts";
import type { Step } from "./session.ts";

/**
 * Commands that tell the database who the caller is, until the end of the transaction: for row-level security.
 * With `roleClaim`, they also switch to the caller's role.
 */
export function identitySteps(caller: Caller | undefined, roleClaim: RoleClaim | undefined): readonly Step[] {
  if (caller === undefined) {
    // The role of the connection may see more than any caller.
    if (roleClaim !== undefined) throw noRole();
    return [];
  }
  const { username, email, roles, groups } = caller;
  const claims = { sub: username, username, email, roles, groups };
  const settings = new Map([
    ["request.jwt.claims", JSON.stringify(claims)],
    ["eider.username", username ?? ""],
    ["eider.roles", roles.join(",")],
  ]);
  // Last: the role may not be allowed to change settings.
  if (roleClaim !== undefined) settings.set("role", roleOf(caller, roleClaim));
  const calls = [...settings].map((_, index) => `set_config($${index * 2 + 1}, $${index * 2 + 2}, true)`);
  return [{ run: `SELECT ${calls.join(", ")}`, values: [...settings].flat().map(withoutNul) }];
}

function roleOf(caller: Caller, claim: RoleClaim): string {
  const value = caller[claim];
  const role = typeof value === "string" || value === undefined ? value : value[0];
  // `none` would be the role of the connection.
  if (role === undefined || role === "" || role.toLowerCase() === "none") throw noRole();
  return role;
}

function noRole(): RequestFailure {
  return new RequestFailure({
    kind: "refused-by-template",
    status: 403,
    message: "the caller has no role in the database",
  });
}

/** The server rejects a string with this character. */
function withoutNul(text: string): string {
  return text.replaceAll("\0", "");
}
