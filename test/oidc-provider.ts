import { generateKeyPairSync } from "node:crypto";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { importJWK, type JWK, SignJWT } from "jose";
import Provider, { type Configuration, type JWK as ProviderKey } from "oidc-provider";
import type { AuthenticationResult } from "../src/auth/authenticator.ts";
import { type OidcAuthenticator, openOidc } from "../src/auth/oidc/oidc.ts";
import type { OidcPolicy } from "../src/auth/policy.ts";
import { oidcPolicyOf } from "../src/config/oidc-presets.ts";
import { oidc as oidcSchema } from "../src/config/schema/auth.ts";
import type { ServiceEvent } from "../src/events.ts";

/** The algorithm of a key. */
export type KeyKind = "rsa" | "p256" | "p384" | "p521" | "ed25519";

/** A private key for `oidc-provider`, which publishes the public half. */
export function makeKey(kind: KeyKind, kid: string): JWK {
  return { ...pairOf(kind).privateKey.export({ format: "jwk" }), kid, use: "sig" };
}

function pairOf(kind: KeyKind): ReturnType<typeof generateKeyPairSync> {
  switch (kind) {
    case "rsa":
      return generateKeyPairSync("rsa", { modulusLength: 2048 });
    case "p256":
      return generateKeyPairSync("ec", { namedCurve: "P-256" });
    case "p384":
      return generateKeyPairSync("ec", { namedCurve: "P-384" });
    case "p521":
      return generateKeyPairSync("ec", { namedCurve: "P-521" });
    case "ed25519":
      return generateKeyPairSync("ed25519");
  }
}

/** One key of each kind. The kid is the kind and the suffix. */
export function makeKeys(suffix = ""): readonly JWK[] {
  return (["rsa", "p256", "p384", "p521", "ed25519"] as const).map((kind) => makeKey(kind, `${kind}${suffix}`));
}

export const client = { id: "eider", secret: "the secret of the client" } as const;
/** The audience of tokens, to which the name of their algorithm is appended. */
export const audience = "https://api.test/";

export interface TestProvider extends AsyncDisposable {
  readonly issuer: string;
  /** The number of requests for a path. */
  requestCount(path: string): number;
  /** Requests a token from the provider, with the credentials of the client. */
  issue(algorithm: string): Promise<string>;
  /** Creates a refresh token for a user, as a login would. */
  refreshToken(username: string): Promise<string>;
  /** Signs any claims with one of the provider's keys. */
  sign(claims: object, header: { readonly alg: string; readonly kid?: string; readonly typ?: string }): Promise<string>;
  /** Replaces the keys of the provider. */
  rotate(keys: readonly JWK[]): void;
  /** Listeners by path that replace the provider, for responses that it would never send. */
  readonly instead: Map<string, RequestListener>;
  stop(): Promise<void>;
  /** Starts it again on the same port. */
  start(): Promise<void>;
}

/** The real `oidc-provider` on the loopback address. */
export async function startProvider(keys: readonly JWK[] = makeKeys()): Promise<TestProvider> {
  const counts = new Map<string, number>();
  const instead = new Map<string, RequestListener>();
  let current = keys;
  let provider: Provider | undefined;
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    counts.set(path, (counts.get(path) ?? 0) + 1);
    const answer = instead.get(path) ?? provider?.callback();
    // The provider sends the response itself. Its promise is not needed.
    void answer?.(request, response);
  });
  const port = await listen(server, 0);
  const issuer = `http://127.0.0.1:${port}`;
  const opened = openProvider(issuer, keys);
  provider = opened;

  return {
    issuer,
    instead,
    requestCount: (path) => counts.get(path) ?? 0,
    async issue(algorithm) {
      const form = { grant_type: "client_credentials", resource: audience + algorithm, scope: "read" };
      const pair = [client.id, client.secret].map((text) => encodeURIComponent(text)).join(":");
      const answer = await fetch(`${issuer}/token`, {
        method: "POST",
        headers: { authorization: `Basic ${btoa(pair)}` },
        body: new URLSearchParams(form),
      });
      const { access_token } = (await answer.json()) as { readonly access_token?: string };
      if (access_token === undefined) throw new Error(`the provider issued no token: ${answer.status}`);
      return access_token;
    },
    async refreshToken(username) {
      const { Grant, RefreshToken, Client } = provider ?? opened;
      const found = await Client.find(client.id);
      if (found === undefined) throw new Error("the provider lost its client");
      const grant = new Grant({ accountId: username, clientId: client.id });
      grant.addOIDCScope("openid offline_access");
      grant.addResourceScope(`${audience}RS256`, "read write");
      const token = new RefreshToken({
        accountId: username,
        client: found,
        grantId: await grant.save(),
        gty: "authorization_code",
        resource: `${audience}RS256`,
        scope: "openid offline_access read",
      });
      return await token.save();
    },
    async sign(claims, header) {
      const key = current.find(({ kid }) => kid === header.kid) ?? current[0];
      if (key === undefined) throw new Error("the provider has no key");
      return await new SignJWT({ ...claims }).setProtectedHeader(header).sign(await importJWK(key, header.alg));
    },
    rotate(next) {
      current = next;
      provider = openProvider(issuer, next);
    },
    stop: () => close(server),
    async start() {
      await listen(server, port);
    },
    async [Symbol.asyncDispose]() {
      if (server.listening) await close(server);
    },
  };
}

/** An authenticator of type oidc for a provider, with a clock that the test controls. */
export interface OpenedOidc extends Disposable {
  readonly oidc: OidcAuthenticator;
  readonly policy: OidcPolicy;
  readonly events: readonly ServiceEvent[];
  /** In milliseconds. The clock only moves with `turn`. */
  readonly now: () => number;
  advance(ms: number): void;
  show(token: string): Promise<AuthenticationResult>;
}

export function openAgainst(issuerUrl: string, changes: Partial<OidcPolicy> = {}): OpenedOidc {
  const { policy: settled } = oidcPolicyOf(
    oidcSchema.parse({
      "provider-type": changes.provider,
      "issuer-url": issuerUrl,
      "client-id": client.id,
      "client-secret": client.secret,
    }),
  );
  if (settled === undefined) throw new Error("the settings have a problem");
  const policy = { ...settled, ...changes };
  const events: ServiceEvent[] = [];
  let time = Date.now();
  const now = (): number => time;
  const oidc = openOidc(policy, { fetch, now, report: (event) => void events.push(event) });
  return {
    oidc,
    policy,
    events,
    now,
    advance(ms) {
      time += ms;
    },
    show: async (token) => await oidc.authenticate({ authorization: `Bearer ${token}` }),
    [Symbol.dispose]: oidc.close,
  };
}

function openProvider(issuer: string, keys: readonly JWK[]) {
  const configuration: Configuration = {
    // Both types describe the same JSON.
    jwks: { keys: [...keys] as ProviderKey[] },
    clients: [
      {
        client_id: client.id,
        client_secret: client.secret,
        grant_types: ["authorization_code", "client_credentials", "refresh_token"],
        redirect_uris: ["https://app.test/callback"],
        response_types: ["code"],
        ...algorithmOf(keys),
      },
    ],
    scopes: ["openid", "offline_access", "read", "write"],
    cookies: { keys: ["a key for cookies that nobody sets"] },
    findAccount: (_context, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    extraTokenClaims: () => ({ roles: ["reader", "writer"], email: "ada@example.com" }),
    ttl: { ClientCredentials: 600, AccessToken: 600, RefreshToken: 600, Grant: 600, IdToken: 600 },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_context, resource) => ({
          scope: "read write",
          audience: resource,
          accessTokenFormat: "jwt",
          jwt: {
            sign: { alg: resource.startsWith(audience) ? (resource.slice(audience.length) as "RS256") : "RS256" },
          },
        }),
      },
    },
  };
  return new Provider(issuer, configuration);
}

/** The provider requires a key for ID tokens, although no test requests them. */
function algorithmOf(keys: readonly JWK[]): { readonly id_token_signed_response_alg: "RS256" | "ES256" | "EdDSA" } {
  const has = (kty: string): boolean => keys.some((key) => key.kty === kty);
  return { id_token_signed_response_alg: has("RSA") ? "RS256" : has("EC") ? "ES256" : "EdDSA" };
}

async function listen(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  // The server listens on a port, so its address is not the path of a socket.
  return (server.address() as AddressInfo).port;
}

async function close(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
}
