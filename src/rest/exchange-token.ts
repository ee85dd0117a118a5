import type { ExchangeResponse, TokenExchange } from "../auth/oidc/token-exchange.ts";
import { readBody } from "../http/body-stream.ts";
import type { BuiltInRoutes } from "./built-in-route.ts";
import { checkAccess } from "./check-access.ts";
import type { RestContext } from "./context.ts";
import type { HttpExchange } from "./exchange.ts";
import { sendJson } from "./send-failure.ts";

const PATH = "/auth/token";
const MAX_FORM_BYTES = 64 * 1024;
const FORM = /^application\/x-www-form-urlencoded\s*(?:;|$)/i;

/** `POST /auth/token`, where the global auth block allows an exchange. */
export function tokenRoutes(context: RestContext): BuiltInRoutes {
  const { tokenExchange } = context;
  if (tokenExchange === undefined) return {};
  return { [PATH]: { methods: ["POST"], handle: (exchange) => exchangeToken(tokenExchange, exchange, context) } };
}

async function exchangeToken(tokenExchange: TokenExchange, exchange: HttpExchange, context: RestContext) {
  const { request } = exchange;
  if (!FORM.test(request.headers["content-type"] ?? "")) {
    const body = {
      error: "invalid_request",
      error_description: "Content-Type must be application/x-www-form-urlencoded",
    };
    sendJson(exchange, { status: 400, headers: { "Cache-Control": "no-store" }, body });
    request.resume();
    return;
  }
  // Attempts to guess a secret count against the client's address.
  await checkAccess({ name: `POST ${PATH}`, auth: undefined, rateLimit: context.access.rateLimit }, exchange, context);
  const bytes = await readBody(request, request.headers["content-length"], MAX_FORM_BYTES);
  sendExchangeResponse(
    await tokenExchange(new URLSearchParams(bytes.toString()), request.headers.authorization),
    exchange,
  );
}

function sendExchangeResponse(
  { status, headers, body }: ExchangeResponse,
  { response, requestId }: HttpExchange,
): void {
  response
    .writeHead(status, { ...headers, "Content-Length": Buffer.byteLength(body), "X-Request-Id": requestId })
    .end(body);
}
