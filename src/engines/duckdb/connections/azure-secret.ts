import { type ConnectionType, extension, type Options, secret, settingsFrom, statements } from "./connection-type.ts";

const SETTINGS = {
  "connection-string": "CONNECTION_STRING",
  "account-name": "ACCOUNT_NAME",
  "tenant-id": "TENANT_ID",
  "client-id": "CLIENT_ID",
  "client-secret": "CLIENT_SECRET",
  "client-certificate-path": "CLIENT_CERTIFICATE_PATH",
  scope: "SCOPE",
};

/** Credentials for `az://` and `abfss://` addresses; with only an account, those of the environment. */
export const azureSecret: ConnectionType = {
  type: "azure-secret",
  options: Object.keys(SETTINGS),
  required: [["connection-string", "account-name"]],
  isSecret: true,
  expand: (options, { name }) =>
    statements(
      extension("azure"),
      secret(name, [["TYPE", "azure"], ["PROVIDER", providerOf(options)], ...settingsFrom(options, SETTINGS)]),
    ),
};

function providerOf(options: Options): string {
  if (options["connection-string"] !== undefined) return "config";
  return options["tenant-id"] === undefined ? "credential_chain" : "service_principal";
}
