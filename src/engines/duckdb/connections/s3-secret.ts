import { type ConnectionType, extension, secret, settingsFrom, statements } from "./connection-type.ts";

const SETTINGS = {
  "key-id": "KEY_ID",
  secret: "SECRET",
  "session-token": "SESSION_TOKEN",
  region: "REGION",
  endpoint: "ENDPOINT",
  "url-style": "URL_STYLE",
  "use-ssl": "USE_SSL",
  scope: "SCOPE",
  "kms-key-id": "KMS_KEY_ID",
  "requester-pays": "REQUESTER_PAYS",
  profile: "PROFILE",
  "assume-role-arn": "ASSUME_ROLE_ARN",
};

/** Credentials for `s3://` addresses; without a key, those of the environment (AWS's credential chain). */
export const s3Secret: ConnectionType = {
  type: "s3-secret",
  options: Object.keys(SETTINGS),
  required: [],
  values: { "url-style": ["path", "vhost"], "use-ssl": "boolean", "requester-pays": "boolean" },
  isSecret: true,
  expand(options, { name }) {
    const usesChain = options["key-id"] === undefined;
    return statements(
      extension("httpfs"),
      usesChain ? extension("aws") : [],
      secret(name, [
        ["TYPE", "s3"],
        ...(usesChain ? [["PROVIDER", "credential_chain"] as const] : []),
        ...settingsFrom(options, SETTINGS),
      ]),
    );
  },
};
