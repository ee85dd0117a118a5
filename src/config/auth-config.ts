import { oidcPolicyOf } from "../auth/oidc/presets.ts";
import { passwordShape } from "../auth/password.ts";
import type { AuthPolicy, BasicPolicy, BearerPolicy, OidcPolicy, SecretUsers } from "../auth/policy.ts";
import type { KeyPath } from "./problem.ts";
import type { AuthInput } from "./schema/auth.ts";
import {
  errorAt,
  isWritten,
  keyLocation,
  partLocation,
  type Report,
  type Spot,
  securityWarningAt,
  warningAt,
} from "./tree.ts";

/** An `auth` block and where it stands. */
export interface AuthBlock {
  readonly input: AuthInput;
  /** The root of the file, and the way to the block. */
  readonly spot: Spot;
  readonly path: KeyPath;
}

type Say = (key: KeyPath, message: string) => void;

interface Saying {
  readonly error: Say;
  readonly warning: Say;
  readonly insecure: Say;
  readonly isWritten: (key: KeyPath) => boolean;
}

/** The policy of a block that is on; undefined when it is off, or so wrong that there is none. Spec 5. */
export function compileAuth({ input, spot, path }: AuthBlock, report: Report): AuthPolicy | undefined {
  return input.enabled ? compilePolicy({ input, spot, path }, report) : undefined;
}

/** The same whatever the block says of `enabled`: a method of MCP may need it all the same. Spec 5.5. */
export function compilePolicy({ input, spot, path }: AuthBlock, report: Report): AuthPolicy | undefined {
  const at = (key: KeyPath): KeyPath => [...path, ...key];
  const saying: Saying = {
    error: (key, message) => report(errorAt(partLocation(spot, at(key)), at(key), message)),
    warning: (key, message) => report(warningAt(keyLocation(spot, at(key)), at(key), message)),
    insecure: (key, message) => report(securityWarningAt(keyLocation(spot, at(key)), at(key), message)),
    isWritten: (key) => isWritten(spot, at(key)),
  };
  if (input.type === undefined) {
    saying.error(
      ["type"],
      "missing; write 'type: basic', 'bearer' or 'oidc', or switch the block off with 'enabled: false'",
    );
    return undefined;
  }
  warnOfUnused(input, input.type, saying);
  switch (input.type) {
    case "basic":
      return basicOf(input, saying);
    case "bearer":
      return bearerOf(input, saying);
    case "oidc":
      return oidcOf(input, saying);
  }
}

const KEYS = {
  basic: ["users", "from-aws-secretmanager"],
  bearer: ["jwt-secret", "jwt-issuer", "token", "tokens"],
  oidc: ["oidc"],
} as const;

function warnOfUnused(input: AuthInput, type: keyof typeof KEYS, { warning }: Saying): void {
  for (const [owner, keys] of Object.entries(KEYS)) {
    if (owner === type) continue;
    for (const key of keys) if (input[key] !== undefined) warning([key], `type ${type} does not use it; ${owner} does`);
  }
}

/** A name with a comma is most likely a list that was written as one string. */
function warnOfCommas(key: KeyPath, roles: readonly string[], { warning }: Saying): void {
  if (!roles.some((name) => name.includes(","))) return;
  warning(
    [...key, "roles"],
    "a name with a comma is one role, and auth.roles has %2C for the comma; for several roles write a list, [admin, read]",
  );
}

function basicOf(input: AuthInput, saying: Saying): BasicPolicy {
  const { error, insecure } = saying;
  const { users = [], "from-aws-secretmanager": secret } = input;
  if (users.length === 0 && secret === undefined) {
    error(["users"], "missing; list users, or name a secret under from-aws-secretmanager");
  }
  const names = new Set<string>();
  users.forEach(({ username, password, roles }, index) => {
    const key = ["users", index];
    warnOfCommas(key, roles, saying);
    if (names.has(username)) error([...key, "username"], "a user of this name is listed already; keep one");
    if (username.includes(":")) error([...key, "username"], "a user name of type basic cannot hold a colon");
    names.add(username);
    const shape = passwordShape(password);
    switch (shape.kind) {
      case "pbkdf2":
        return;
      case "malformed":
        return error([...key, "password"], `matches nothing: ${shape.reason}; \`eider hash-password\` makes a hash`);
      case "md5":
        return insecure(
          [...key, "password"],
          "an MD5 hash is deprecated and quickly guessed; make a better one with `eider hash-password`",
        );
      case "plain":
        return insecure(
          [...key, "password"],
          "a plain password is for local demos only; make a hash with `eider hash-password`",
        );
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

const SHORTEST_SECRET_BYTES = 32;

function bearerOf(input: AuthInput, saying: Saying): BearerPolicy {
  const { error, insecure, warning } = saying;
  const { "jwt-secret": secret, "jwt-issuer": issuer, token, tokens = [] } = input;
  if (secret === undefined && token === undefined && tokens.length === 0) {
    error(["jwt-secret"], "missing; set jwt-secret for signed tokens, or token (or tokens) for a shared secret");
  }
  if (secret === undefined && issuer !== undefined) {
    warning(["jwt-issuer"], "only tokens that are verified with a jwt-secret have an issuer");
  }
  const warnIfShort = (key: KeyPath, value: string | undefined): void => {
    if (value === undefined || Buffer.byteLength(value) >= SHORTEST_SECRET_BYTES) return;
    insecure(
      key,
      `shorter than ${SHORTEST_SECRET_BYTES} bytes, so it can be guessed; make one with \`openssl rand -base64 32\``,
    );
  };
  warnIfShort(["jwt-secret"], secret);
  warnIfShort(["token"], token);
  tokens.forEach((each, index) => {
    warnIfShort(["tokens", index, "token"], each.token);
    warnOfCommas(["tokens", index], each.roles, saying);
  });
  const shared = token === undefined ? [] : [{ token, username: undefined, roles: [] }];
  return {
    kind: "bearer",
    jwt: secret === undefined ? undefined : { secret, issuer },
    tokens: [...shared, ...tokens.map(({ token, username, roles }) => ({ token, username, roles }))],
  };
}

function oidcOf({ oidc }: AuthInput, { error, warning, insecure, isWritten }: Saying): OidcPolicy | undefined {
  if (oidc === undefined) {
    error(["oidc"], "missing; write client-id, and issuer-url or provider-type, under it");
    return undefined;
  }
  const found = oidcPolicyOf(oidc);
  for (const { key, message, severity } of found.problems) {
    const say = severity === "warning" ? insecure : error;
    say(["oidc", key], message);
  }
  if (oidc["allowed-audiences"] === undefined && oidc["provider-type"] !== "github") {
    insecure(
      ["oidc"],
      "without allowed-audiences a token that the provider made for any other application is accepted; name the audience of this API",
    );
  }
  if (!oidc["verify-expiration"]) {
    insecure(["oidc", "verify-expiration"], "tokens are accepted for ever; remove it");
  }
  if (isWritten(["oidc", "jwks-cache-hours"]) && oidc["provider-type"] === "github") {
    warning(["oidc", "jwks-cache-hours"], "github has no key set");
  }
  return found.policy;
}
