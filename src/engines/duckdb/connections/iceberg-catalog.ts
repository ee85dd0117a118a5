import { quoteIdentifier } from "../../../sql/quote.ts";
import { attach, type ConnectionType, extension, secret, settingsFrom, statements } from "./connection-type.ts";

const CREDENTIALS = {
  token: "TOKEN",
  "client-id": "CLIENT_ID",
  "client-secret": "CLIENT_SECRET",
  "oauth2-server-uri": "OAUTH2_SERVER_URI",
  "oauth2-scope": "OAUTH2_SCOPE",
};

/** An Iceberg REST catalog, attached. Without credentials, its server must not ask for any. */
export const icebergCatalog: ConnectionType = {
  type: "iceberg-catalog",
  options: ["endpoint", "warehouse", ...Object.keys(CREDENTIALS)],
  required: [["endpoint"], ["warehouse"]],
  expand(options, context) {
    const secretName = `${context.name}_iceberg`;
    const credentials = settingsFrom(options, CREDENTIALS);
    const hasCredentials = credentials.length > 0;
    return statements(
      extension("httpfs"),
      extension("iceberg"),
      hasCredentials ? [secret(secretName, [["TYPE", "iceberg"], ...credentials])] : [],
      attach(context, {
        address: options["warehouse"] ?? "",
        settings: [
          ["TYPE", "iceberg"],
          ...settingsFrom(options, { endpoint: "ENDPOINT" }),
          hasCredentials ? ["SECRET", quoteIdentifier(secretName)] : ["AUTHORIZATION_TYPE", "'none'"],
        ],
      }),
    );
  },
};
