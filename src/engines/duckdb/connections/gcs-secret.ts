import { type ConnectionType, extension, secret, settingsFrom, statements } from "./connection-type.ts";

const SETTINGS = { "key-id": "KEY_ID", secret: "SECRET", "bearer-token": "BEARER_TOKEN", scope: "SCOPE" };

/** Credentials for `gs://` addresses: an HMAC key, or an access token. */
export const gcsSecret: ConnectionType = {
  type: "gcs-secret",
  options: Object.keys(SETTINGS),
  required: [["key-id", "bearer-token"]],
  isSecret: true,
  expand: (options, { name }) =>
    statements(extension("httpfs"), secret(name, [["TYPE", "gcs"], ...settingsFrom(options, SETTINGS)])),
};
