import { errorMessage } from "../../error-message.ts";
import type { Report } from "../../events.ts";
import { openDependency } from "../dependency.ts";
import type { OidcPolicy } from "../policy.ts";
import { member, parseObject, textMember } from "./json.ts";
import type { Metadata, SecretMethod } from "./metadata.ts";
import type { Provider } from "./provider.ts";
import type { ProviderClient, Reply } from "./provider-client.ts";
import { type Client, readTokenRequest } from "./token-request.ts";

/** The response of Eider's token endpoint. Always JSON, never cached. */
export interface ExchangeResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Exchanges a grant for tokens at the provider, with Eider's client secret (RFC 6749). Never rejects. */
export type TokenExchange = (form: URLSearchParams, authorization: string | undefined) => Promise<ExchangeResponse>;

export interface ExchangeOptions {
  readonly requests: ProviderClient;
  readonly provider: Provider;
  readonly report: Report;
}

/** Any client may send refresh tokens, so concurrent requests to the provider are limited. */
const EXCHANGES_AT_ONCE = 32;

/** Undefined if no exchange is enabled. */
export function openTokenExchange(policy: OidcPolicy, options: ExchangeOptions): TokenExchange | undefined {
  const { clientId: id, clientSecret: secret, exchanges } = policy;
  if (secret === undefined || !(exchanges.clientCredentials || exchanges.refreshTokens)) return undefined;
  const { requests, provider, report } = options;
  const client: Client = { id, secret };
  const dependency = openDependency(`oidc token endpoint of ${policy.issuerUrl}`, report);
  let runningExchanges = 0;
  /** The method that the provider accepted last. */
  let acceptedMethod: SecretMethod | undefined;

  const reportDown = (reason: string): void => dependency.down(`${reason}; no tokens are exchanged until it is fixed`);

  /** Tries each method, because only the provider knows which one is registered for the client. */
  async function send(url: string, form: URLSearchParams, methods: readonly SecretMethod[]): Promise<Reply> {
    const [method = "client_secret_basic", ...others] = methods;
    const { headers, body } = withSecret(form, client, method);
    const reply = await requests.post(url, body, headers);
    if (others.length > 0 && errorIn(reply) === "invalid_client") return await send(url, form, others);
    if (reply.status === 200) acceptedMethod = method;
    return reply;
  }

  async function exchange(form: URLSearchParams, metadata: Metadata | undefined): Promise<ExchangeResponse> {
    // `openProvider` has reported that the provider is down.
    if (metadata === undefined) return unavailable;
    if (metadata.tokenUrl === undefined) {
      reportDown("the discovery document names no usable token_endpoint");
      return unavailable;
    }
    let reply: Reply;
    try {
      reply = await send(
        metadata.tokenUrl,
        form,
        acceptedMethod === undefined ? metadata.secretMethods : [acceptedMethod],
      );
    } catch (error) {
      reportDown(errorMessage(error));
      return unavailable;
    }
    const error = errorIn(reply);
    if (error === "invalid_client") {
      acceptedMethod = undefined;
      reportDown("the provider rejects the configured client-id and client-secret");
    } else if (error !== undefined) dependency.up();
    // Always 400, because 401 would mean that the client's own secret is wrong.
    if (error !== undefined) return jsonResponse(400, { error });
    const tokens = tokensIn(reply);
    if (tokens === undefined) {
      reportDown(`${metadata.tokenUrl} answers with status ${reply.status} and no usable tokens`);
      return unavailable;
    }
    dependency.up();
    return jsonResponse(200, tokens);
  }

  return async (form, authorization) => {
    const request = readTokenRequest(policy, client, { form, authorization });
    if (request.kind === "refused") {
      const { error } = request;
      if (error === "invalid_client")
        return jsonResponse(401, { error }, { "www-authenticate": 'Basic realm="eider"' });
      return jsonResponse(400, { error });
    }
    if (runningExchanges >= EXCHANGES_AT_ONCE) return unavailable;
    runningExchanges++;
    try {
      const known = await provider.load();
      return await exchange(request.form, known?.metadata);
    } finally {
      runningExchanges--;
    }
  };
}

function jsonResponse(status: number, body: object, headers: Readonly<Record<string, string>> = {}): ExchangeResponse {
  const always = { "content-type": "application/json", "cache-control": "no-store", pragma: "no-cache" };
  return { status, headers: { ...always, ...headers }, body: JSON.stringify(body) };
}

const unavailable = jsonResponse(503, { error: "temporarily_unavailable" }, { "retry-after": "5" });

function withSecret(
  form: URLSearchParams,
  { id, secret }: Client,
  method: SecretMethod,
): { readonly headers: Readonly<Record<string, string>>; readonly body: URLSearchParams } {
  switch (method) {
    case "client_secret_basic": {
      const pair = Buffer.from(`${formEncode(id)}:${formEncode(secret)}`).toString("base64");
      return { headers: { authorization: `Basic ${pair}` }, body: form };
    }
    case "client_secret_post":
      return {
        headers: {},
        body: new URLSearchParams([...form, ["client_id", id], ["client_secret", secret]]),
      };
  }
}

function formEncode(text: string): string {
  return new URLSearchParams([["", text]]).toString().slice(1);
}

/** The error code of a rejection. Its description is not passed on, because it may quote secrets. */
function errorIn({ status, text }: Reply): string | undefined {
  if (status < 400 || status >= 500) return undefined;
  const error = textMember(parseObject(text) ?? {}, "error");
  return error !== undefined && /^[\w.:/-]{1,100}$/.test(error) ? error : undefined;
}

/** The members that RFC 6749 and OpenID Connect define, with their types checked. */
function tokensIn({ status, text }: Reply): Readonly<Record<string, unknown>> | undefined {
  const reply = status === 200 ? parseObject(text) : undefined;
  const names = ["access_token", "token_type", "refresh_token", "id_token", "scope"] as const;
  const [access_token, token_type, refresh_token, id_token, scope] = names.map((name) => textMember(reply ?? {}, name));
  if (reply === undefined || access_token === undefined || token_type === undefined) return undefined;
  // Some providers send a string.
  const expiresText = String(member(reply, "expires_in"));
  const expires_in = /^\d{1,10}$/.test(expiresText) ? Number(expiresText) : undefined;
  return { access_token, token_type, expires_in, refresh_token, id_token, scope };
}
