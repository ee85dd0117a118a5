import type { SecretsManagerClient, SecretsManagerClientConfig } from "@aws-sdk/client-secrets-manager";
import { withTimeLimit } from "../time-limit.ts";
import type { SecretUsers } from "./policy.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** The current value of a secret. */
export interface SecretValue {
  /** Changes with the content. */
  readonly versionId: string | undefined;
  readonly content: string | Uint8Array;
}

/** A secret in AWS Secrets Manager. */
export interface SecretReader {
  /** Rejects with an Error that contains no keys. */
  read(): Promise<SecretValue>;
  close(): void;
}

const ATTEMPTS = 2;

export async function openSecretReader(
  config: SecretUsers,
  { env, timeoutMs }: { readonly env: Environment; readonly timeoutMs: number },
): Promise<SecretReader> {
  // Loaded on demand, because the SDK is large.
  const { SecretsManagerClient, GetSecretValueCommand } = await import("@aws-sdk/client-secrets-manager");
  const client = new SecretsManagerClient({
    ...clientConfig(config, env),
    maxAttempts: ATTEMPTS,
    requestHandler: { connectionTimeout: timeoutMs, requestTimeout: timeoutMs, throwOnRequestTimeout: true },
  });

  async function fetchSecret(): Promise<SecretValue> {
    const response = await client.send(new GetSecretValueCommand({ SecretId: config.secretName }));
    const content = response.SecretString ?? response.SecretBinary;
    if (content === undefined) throw new Error("AWS sent neither SecretString nor SecretBinary");
    return { versionId: response.VersionId, content };
  }

  return {
    async read() {
      const region = await regionOf(client);
      try {
        // The client's own timeout covers neither the search for credentials nor a body that stalls.
        return await withTimeLimit(fetchSecret(), (ATTEMPTS + 1) * timeoutMs, throwTimeout);
      } catch (error) {
        // The client's errors contain requests and responses, which must not be logged.
        throw new Error(reasonOf(error, region));
      }
    },
    close: () => client.destroy(),
  };
}

/** Settings from the block or the environment. For the rest, the client has its own chain: profiles, roles, metadata. */
function clientConfig(
  { region, accessKeyId, secretAccessKey }: SecretUsers,
  env: Environment,
): SecretsManagerClientConfig {
  const resolvedRegion = region ?? env["AWS_REGION"] ?? env["AWS_DEFAULT_REGION"];
  const endpoint = env["AWS_ENDPOINT_URL_SECRETS_MANAGER"] || env["AWS_ENDPOINT_URL"];
  const credentials = credentialsOf({ id: accessKeyId, key: secretAccessKey }) ?? credentialsIn(env);
  return {
    ...(resolvedRegion && { region: resolvedRegion }),
    ...(endpoint && env["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] !== "true" && { endpoint }),
    ...(credentials && { credentials }),
  };
}

type Credentials = Exclude<SecretsManagerClientConfig["credentials"], undefined>;

/** A named profile overrides keys, as in the client's own chain. */
function credentialsIn(env: Environment): Credentials | undefined {
  if (env["AWS_PROFILE"]) return undefined;
  return credentialsOf({
    id: env["AWS_ACCESS_KEY_ID"],
    key: env["AWS_SECRET_ACCESS_KEY"],
    sessionToken: env["AWS_SESSION_TOKEN"],
  });
}

function credentialsOf({
  id,
  key,
  sessionToken,
}: {
  readonly id: string | undefined;
  readonly key: string | undefined;
  readonly sessionToken?: string | undefined;
}): Credentials | undefined {
  if (!id || !key) return undefined;
  return { accessKeyId: id, secretAccessKey: key, ...(sessionToken && { sessionToken }) };
}

async function regionOf(client: SecretsManagerClient): Promise<string> {
  try {
    return await client.config.region();
  } catch {
    throw new Error("no region, or none that is valid; write region in the block, or set AWS_REGION");
  }
}

const NO_CREDENTIALS =
  "no credentials; write secret-id and secret-key in the block, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
const WRONG_KEYS = "access denied: AWS does not accept the access key";

/** By the name of the AWS error. */
const REASONS: Readonly<Record<string, string>> = {
  AccessDeniedException: "access denied: secretsmanager:GetSecretValue is not allowed on it",
  DecryptionFailure: "access denied: its KMS key may not be used to decrypt it",
  UnrecognizedClientException: WRONG_KEYS,
  InvalidClientTokenId: WRONG_KEYS,
  InvalidSignatureException: WRONG_KEYS,
  SignatureDoesNotMatch: WRONG_KEYS,
  ExpiredTokenException: "access denied: the credentials have expired",
  InvalidRequestException: "AWS does not return it; it may be marked for deletion",
  ThrottlingException: "AWS throttles the requests",
  CredentialsProviderError: NO_CREDENTIALS,
  TokenProviderError: NO_CREDENTIALS,
};

function reasonOf(error: unknown, region: string): string {
  if (!(error instanceof Error)) return "it cannot be read";
  if (error.name === "ResourceNotFoundException") return `there is no such secret in region '${region}'`;
  const known = REASONS[error.name];
  if (known !== undefined) return known;
  if (error.name === "TimeoutError")
    return `AWS Secrets Manager in region '${region}' is not reachable: no answer in time`;
  if ("code" in error && typeof error.code === "string") {
    return `AWS Secrets Manager in region '${region}' is not reachable (${error.code})`;
  }
  const status = statusOf(error);
  if (status === 401 || status === 403) return `access denied (${status})`;
  return `it cannot be read (${status === undefined ? error.name : `${status}, ${error.name}`})`;
}

/** The status of a response that may not come from AWS, but from a proxy. */
function statusOf(error: Error): number | undefined {
  if (!("$metadata" in error) || typeof error.$metadata !== "object" || error.$metadata === null) return undefined;
  const status = "httpStatusCode" in error.$metadata ? error.$metadata.httpStatusCode : undefined;
  return typeof status === "number" ? status : undefined;
}

function throwTimeout(): never {
  throw Object.assign(new Error(), { name: "TimeoutError" });
}
