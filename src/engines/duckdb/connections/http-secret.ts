import { quoteLiteral } from "../../../sql/quote.ts";
import { type ConnectionType, extension, secret, settingsFrom, statements } from "./connection-type.ts";

const SETTINGS = {
  "bearer-token": "BEARER_TOKEN",
  "http-proxy": "HTTP_PROXY",
  "http-proxy-username": "HTTP_PROXY_USERNAME",
  "http-proxy-password": "HTTP_PROXY_PASSWORD",
  scope: "SCOPE",
};

/** Credentials for `https://` addresses, and a proxy. */
export const httpSecret: ConnectionType = {
  type: "http-secret",
  options: [...Object.keys(SETTINGS), "api-key", "api-key-header"],
  required: [["bearer-token", "api-key", "http-proxy"]],
  isSecret: true,
  expand(options, { name }) {
    const { "api-key": key, "api-key-header": header = "X-API-Key" } = options;
    const headers = `MAP {${quoteLiteral(header)}: ${quoteLiteral(key ?? "")}}`;
    return statements(
      extension("httpfs"),
      secret(name, [
        ["TYPE", "http"],
        ...settingsFrom(options, SETTINGS),
        ...(key === undefined ? [] : [["EXTRA_HTTP_HEADERS", headers] as const]),
      ]),
    );
  },
};
