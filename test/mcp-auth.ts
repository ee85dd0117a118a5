import { SignJWT } from "jose";
import type { SentHeaders } from "./mcp-program.ts";
import { audience, client, type TestProvider } from "./oidc-provider.ts";
import type { Files } from "./process/program.ts";
import { basicHeader } from "./readme-users.ts";

/** A type of authentication: its block in the configuration file, and the headers that clients send. */
export interface AuthKind {
  readonly name: string;
  /** The `auth` block as one line of YAML, without its braces. */
  readonly block: string;
  /** Ann has the role `reader`. Ben has no role. */
  readonly ann: SentHeaders;
  readonly ben: SentHeaders;
  /** Headers that must be rejected. */
  readonly wrong: readonly SentHeaders[];
}

const SECRET = "a secret for tokens that is long enough to be taken for one";
const ANNS_TOKEN = "the-token-of-ann-which-is-long-enough";
const BENS_TOKEN = "the-token-of-ben-which-is-long-enough";

const bearer = (token: string): SentHeaders => ({ Authorization: `Bearer ${token}` });

function jwt(username: string, roles: readonly string[], { secret = SECRET, expires = "10m" } = {}): Promise<string> {
  const claims = new SignJWT({ roles }).setProtectedHeader({ alg: "HS256" }).setSubject(username);
  return claims.setExpirationTime(expires).sign(new TextEncoder().encode(secret));
}

/** Every type of authentication, with two users each. */
export async function authKinds(provider: TestProvider): Promise<readonly AuthKind[]> {
  const token = (sub: string, roles: readonly string[], more: object = {}): Promise<string> => {
    const exp = Math.floor(Date.now() / 1000) + 600;
    const claims = { iss: provider.issuer, aud: `${audience}RS256`, sub, roles, exp, ...more };
    return provider.sign(claims, { alg: "RS256", kid: "rsa" });
  };
  return [
    {
      name: "basic",
      block:
        "type: basic, users: [{ username: ann, password: secret-of-ann, roles: [reader] }, { username: ben, password: secret-of-ben }]",
      ann: basicHeader("ann", "secret-of-ann"),
      ben: basicHeader("ben", "secret-of-ben"),
      wrong: [basicHeader("ann", "secret-of-ben"), basicHeader("nobody", "x"), { Authorization: "Basic !" }],
    },
    {
      name: "bearer",
      block: `type: bearer, tokens: [{ token: ${ANNS_TOKEN}, username: ann, roles: [reader] }, { token: ${BENS_TOKEN}, username: ben }]`,
      ann: bearer(ANNS_TOKEN),
      ben: bearer(BENS_TOKEN),
      wrong: [bearer("x"), bearer(`${ANNS_TOKEN}x`)],
    },
    {
      name: "bearer with JWT",
      block: `type: bearer, jwt-secret: ${SECRET}`,
      ann: bearer(await jwt("ann", ["reader"])),
      ben: bearer(await jwt("ben", [])),
      wrong: [
        bearer("x"),
        bearer(await jwt("ann", ["reader"], { secret: "another secret that is long enough, too" })),
        bearer(await jwt("ann", ["reader"], { expires: "-10m" })),
      ],
    },
    {
      name: "oidc",
      block: `type: oidc, oidc: { issuer-url: "${provider.issuer}", client-id: ${client.id}, allowed-audiences: ["${audience}RS256"], scopes: [read] }`,
      ann: bearer(await token("ann", ["reader"])),
      ben: bearer(await token("ben", [])),
      wrong: [
        bearer("x"),
        bearer(await token("ann", [], { aud: "https://other.test" })),
        bearer(await token("ann", [], { exp: 1 })),
      ],
    },
  ];
}

const WHO =
  "SELECT '{{{auth.username}}}' AS username, '{{{auth.roles}}}' AS roles, '{{{auth.type}}}' AS type, '{{{auth.email}}}' AS email, {{#auth.authenticated}}true{{/auth.authenticated}}{{^auth.authenticated}}false{{/auth.authenticated}} AS known";

/** An endpoint for REST and MCP that returns the identity of the client. `yaml` contains further settings. */
export function whoEndpoint(name: string, yaml = ""): Files {
  return {
    [`${name}.yaml`]: `url-path: /${name}\nmcp-tool: { name: ${name}, description: Who calls }\ntemplate-source: ${name}.sql\nconnection: db\nwith-pagination: false\n${yaml}`,
    [`${name}.sql`]: WHO,
  };
}

/** The row that `whoEndpoint` returns to a user. */
export function whoRow(username: string, roles: string, type: string) {
  return { username, roles, type, email: "", known: username !== "" };
}
