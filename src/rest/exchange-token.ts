import type { ExchangeResponse } from "../auth/oidc/token-exchange.ts";
import { RequestFailure } from "../failure.ts";
import { readBody } from "../http/body-stream.ts";
import { checkAccess } from "./check-access.ts";
import type { Target } from "./read-params/target.ts";
import type { RestContext } from "./rest-app.ts";
import { type HttpExchange, sendJson, sendOptions } from "./send-failure.ts";

const PATH = "/auth/token";
const ALLOW = ["POST", "OPTIONS"];
const MAX_FORM_BYTES = 64 * 1024;
const FORM = /^application\/x-www-form-urlencoded\s*(?:;|$)/i;

/** `POST /auth/token`, where the global block allows an exchange; decisions 9. False: it is not for us. */
export function handleToken(
  target: Target,
  asked: HttpExchange,
  context: RestContext,
  fail: (error: unknown) => void,
): boolean {
  const exchange = target.path === PATH ? context.tokenExchange : undefined;
  if (exchange === undefined) return false;
  const { request } = asked;
  if (request.method === "OPTIONS") {
    sendOptions(asked, ALLOW, context);
    return true;
  }
  if (request.method !== "POST") throw new RequestFailure({ kind: "method-not-allowed", allow: ALLOW });
  if (!FORM.test(request.headers["content-type"] ?? "")) {
    const body = {
      error: "invalid_request",
      error_description: "Content-Type must be application/x-www-form-urlencoded",
    };
    sendJson(asked, { status: 400, headers: { "Cache-Control": "no-store" }, body });
    request.resume();
    return true;
  }
  // Whoever guesses secrets here is counted by its address, as elsewhere.
  const limited = { name: `POST ${PATH}`, auth: undefined, rateLimit: context.access.rateLimit };
  Promise.resolve(checkAccess(limited, asked, context.gate))
    .then(() => readBody(request, request.headers["content-length"], MAX_FORM_BYTES))
    .then((bytes) => exchange(new URLSearchParams(bytes.toString()), request.headers.authorization))
    .then((answer) => sendExchanged(answer, asked))
    .catch(fail);
  return true;
}

function sendExchanged({ status, headers, body }: ExchangeResponse, { response, requestId }: HttpExchange): void {
  response
    .writeHead(status, { ...headers, "Content-Length": Buffer.byteLength(body), "X-Request-Id": requestId })
    .end(body);
}
