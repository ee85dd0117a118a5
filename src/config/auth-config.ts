import { parseStoredPassword, passwordAdvice } from "../auth/password.ts";
import type { AuthPolicy, BasicPolicy, BearerPolicy, OidcPolicy, SecretUsers } from "../auth/policy.ts";
import { oidcPolicyOf } from "./oidc-presets.ts";
import type { KeyPath } from "./problem.ts";
import type { Reporter } from "./reporter.ts";
import type { AuthInput } from "./schema/auth.ts";

/** Undefined if the block is disabled or invalid. */
export function compileAuth(input: AuthInput, reporter: Reporter): AuthPolicy | undefined {
  return input.enabled ? compilePolicy(input, reporter) : undefined;
}

/** Like `compileAuth`, but also compiles a disabled block, because an MCP method may still require it. */
export function compilePolicy(input: AuthInput, reporter: Reporter): AuthPolicy | undefined {
  if (input.type === undefined) {
    reporter.error(
      ["type"],
      "missing; write 'type: basic', 'bearer' or 'oidc', or switch the block off with 'enabled: false'",
    );
    return undefined;
  }
  warnAboutUnusedKeys(input, input.type, reporter);
  switch (input.type) {
    case "basic":
      return basicOf(input, reporter);
    case "bearer":
      return bearerOf(input, reporter);
    case "oidc":
      return oidcOf(input, reporter);
  }
}

const KEYS = {
  basic: ["users", "from-aws-secretmanager"],
  bearer: ["jwt-secret", "jwt-issuer", "token", "tokens"],
  oidc: ["oidc"],
} as const;

function warnAboutUnusedKeys(input: AuthInput, type: keyof typeof KEYS, { warning }: Reporter): void {
  for (const [owner, keys] of Object.entries(KEYS)) {
    if (owner === type) continue;
    for (const key of keys) if (input[key] !== undefined) warning([key], `type ${type} does not use it; ${owner} does`);
  }
}

/** A name with a comma is probably a list that was written as one string. */
function warnAboutCommas(key: KeyPath, roles: readonly string[], { warning }: Reporter): void {
  if (!roles.some((name) => name.includes(","))) return;
  warning(
    [...key, "roles"],
    "a name with a comma is one role, and auth.roles has %2C for the comma; for several roles write a list, [admin, read]",
  );
}

function basicOf(input: AuthInput, reporter: Reporter): BasicPolicy {
  const { error, securityWarning } = reporter;
  const { users = [], "from-aws-secretmanager": secret } = input;
  if (users.length === 0 && secret === undefined) {
    error(["users"], "missing; list users, or name a secret under from-aws-secretmanager");
  }
  const names = new Set<string>();
  users.forEach(({ username, password, roles }, index) => {
    const key = ["users", index];
    warnAboutCommas(key, roles, reporter);
    if (names.has(username)) error([...key, "username"], "a user of this name is listed already; keep one");
    if (username.includes(":")) error([...key, "username"], "a user name of type basic cannot hold a colon");
    names.add(username);
    const shape = parseStoredPassword(password);
    switch (shape.kind) {
      case "pbkdf2":
        return;
      case "malformed":
        return error([...key, "password"], `matches nothing: ${shape.reason}; \`eider hash-password\` makes a hash`);
      case "md5":
      case "plain":
        return securityWarning([...key, "password"], passwordAdvice[shape.kind]);
    }
  });
  return {
    kind: "basic",
    users,
    secretUsers: secret && secretUsersOf(secret),
  };
}

function secretUsersOf(secret: NonNullable<AuthInput["from-aws-secretmanager"]>): SecretUsers {
  const name = secret["secret-name"];
  return {
    secretName: name,
    table: secret["secret-table"] ?? `auth_${name.replace(/\W/g, "_")}`,
    region: secret.region,
    accessKeyId: secret["secret-id"],
    secretAccessKey: secret["secret-key"],
    init: secret.init,
    refreshMs: secret["refresh-interval"],
  };
}

const MIN_SECRET_BYTES = 32;

function bearerOf(input: AuthInput, reporter: Reporter): BearerPolicy {
  const { error, securityWarning, warning } = reporter;
  const { "jwt-secret": secret, "jwt-issuer": issuer, token, tokens = [] } = input;
  if (secret === undefined && token === undefined && tokens.length === 0) {
    error(["jwt-secret"], "missing; set jwt-secret for signed tokens, or token (or tokens) for a shared secret");
  }
  if (secret === undefined && issuer !== undefined) {
    warning(["jwt-issuer"], "only tokens that are verified with a jwt-secret have an issuer");
  }
  const warnIfShort = (key: KeyPath, value: string | undefined): void => {
    if (value === undefined || Buffer.byteLength(value) >= MIN_SECRET_BYTES) return;
    securityWarning(
      key,
      `shorter than ${MIN_SECRET_BYTES} bytes, so it can be guessed; make one with \`openssl rand -base64 32\``,
    );
  };
  warnIfShort(["jwt-secret"], secret);
  warnIfShort(["token"], token);
  tokens.forEach((each, index) => {
    warnIfShort(["tokens", index, "token"], each.token);
    warnAboutCommas(["tokens", index], each.roles, reporter);
  });
  const shared = token === undefined ? [] : [{ token, username: undefined, roles: [] }];
  return {
    kind: "bearer",
    jwt: secret === undefined ? undefined : { secret, issuer },
    tokens: [...shared, ...tokens.map(({ token, username, roles }) => ({ token, username, roles }))],
  };
}

function oidcOf({ oidc }: AuthInput, { error, warning, securityWarning, isWritten }: Reporter): OidcPolicy | undefined {
  if (oidc === undefined) {
    error(["oidc"], "missing; write client-id, and issuer-url or provider-type, under it");
    return undefined;
  }
  const found = oidcPolicyOf(oidc);
  for (const { key, message, severity } of found.problems) {
    const reportProblem = severity === "warning" ? securityWarning : error;
    reportProblem(["oidc", key], message);
  }
  if (oidc["allowed-audiences"] === undefined && oidc["provider-type"] !== "github") {
    securityWarning(
      ["oidc"],
      "without allowed-audiences a token that the provider made for any other application is accepted; name the audience of this API",
    );
  }
  if (!oidc["verify-expiration"]) {
    securityWarning(["oidc", "verify-expiration"], "expired tokens are accepted; remove this key");
  }
  if (isWritten(["oidc", "jwks-cache-hours"]) && oidc["provider-type"] === "github") {
    warning(["oidc", "jwks-cache-hours"], "github has no key set");
  }
  return found.policy;
}
