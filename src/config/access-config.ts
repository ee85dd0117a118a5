import { resolve } from "node:path";
import type { AuditConfig } from "../audit/audit.ts";
import type { AuthPolicy } from "../auth/policy.ts";
import type { CorsPolicy } from "../http/cors.ts";
import { type TrustedProxies, trustedProxies } from "../http/forwarded.ts";
import type { TlsFiles } from "../http/tls.ts";
import type { RateLimitPolicy } from "../rate-limit/policy.ts";
import { parseStoreAddress } from "../rate-limit/store-address.ts";
import { compileAuth } from "./auth-config.ts";
import { corsPolicyOf } from "./cors-policy.ts";
import { isLoopback } from "./loopback.ts";
import { type Reporter, reporterOf } from "./reporter.ts";
import type { RateLimitInput } from "./schema/auth.ts";
import type { EndpointInput } from "./schema/endpoint.ts";
import type { MainInput } from "./schema/main.ts";
import type { NodePositions, Report } from "./tree.ts";

/** Authentication and rate limit. Endpoints without their own block inherit those of the main file. */
export interface EndpointAccess {
  readonly auth: AuthPolicy | undefined;
  readonly rateLimit: RateLimitPolicy | undefined;
}

/** The access settings of the main file. */
export interface AccessConfig extends EndpointAccess {
  readonly https: HttpsPolicy | undefined;
  readonly proxies: TrustedProxies;
  readonly cors: CorsPolicy | undefined;
  readonly audit: AuditConfig | undefined;
  /** Parameters whose values are written neither to the audit log nor to the log. */
  readonly redact: readonly string[];
}

/** Enforces HTTPS. `tls` is undefined if a proxy terminates TLS. */
export interface HttpsPolicy {
  readonly tls: TlsFiles | undefined;
}

interface MainSource {
  readonly input: MainInput;
  readonly folder: string;
  readonly host: string;
  readonly positions: NodePositions;
}

export function compileAccess(source: MainSource, report: Report): AccessConfig {
  const { input, positions } = source;
  const reporter = reporterOf(positions, report);
  const access: AccessConfig = {
    auth: input.auth && compileAuth(input.auth, reporterOf(positions, report, ["auth"])),
    rateLimit: rateLimitOf(input["rate-limit"], undefined, reporter),
    https: httpsOf(source, reporter),
    proxies: proxiesOf(input, reporter),
    cors: corsOf(input, reporter),
    audit: auditOf(source, reporter),
    redact: input.audit?.redact ?? [],
  };
  warnAboutCombinations(source, access, reporter);
  return access;
}

/** An endpoint's own block replaces the global one completely. `enabled: false` disables it. */
export function compileEndpointAccess(
  { input, positions }: { readonly input: EndpointInput; readonly positions: NodePositions },
  inherited: EndpointAccess,
  report: Report,
): EndpointAccess {
  const { auth, "rate-limit": limit } = input;
  return {
    auth: auth === undefined ? inherited.auth : compileAuth(auth, reporterOf(positions, report, ["auth"])),
    rateLimit:
      limit === undefined
        ? inherited.rateLimit
        : rateLimitOf(limit, inherited.rateLimit?.store, reporterOf(positions, report)),
  };
}

/** An endpoint with its own block uses the global store by default. */
function rateLimitOf(
  block: RateLimitInput | undefined,
  inheritedStore: string | undefined,
  { error }: Reporter,
): RateLimitPolicy | undefined {
  if (block?.enabled !== true) return undefined;
  const { max, interval: intervalSeconds, key, store = inheritedStore } = block;
  if (store !== undefined && parseStoreAddress(store) === undefined) {
    error(["rate-limit", "store"], "expected redis://host:port or rediss://host:port");
  }
  return { max, intervalSeconds, key, store };
}

function httpsOf({ input, folder }: MainSource, { error }: Reporter): HttpsPolicy | undefined {
  const block = input["enforce-https"];
  if (block?.enabled !== true) return undefined;
  const { "ssl-cert-file": certFile, "ssl-key-file": keyFile } = block;
  if (certFile !== undefined && keyFile !== undefined) {
    return { tls: { certFile: resolve(folder, certFile), keyFile: resolve(folder, keyFile) } };
  }
  if (certFile !== keyFile) {
    const missing = certFile === undefined ? "ssl-cert-file" : "ssl-key-file";
    error(["enforce-https", missing], "missing; a certificate and its key come together");
  }
  return { tls: undefined };
}

function proxiesOf(input: MainInput, { error, entryPath }: Reporter): TrustedProxies {
  const proxies = trustedProxies(input["trusted-proxies"] ?? []);
  for (const { index, message } of proxies.problems) error(entryPath(["trusted-proxies"], index), message);
  return proxies;
}

function corsOf({ cors }: MainInput, { error, entryPath }: Reporter): CorsPolicy | undefined {
  if (cors?.enabled !== true) return undefined;
  const found = corsPolicyOf(cors);
  if ("policy" in found) return found.policy;
  for (const { key, index, message } of found.problems) error(entryPath(["cors", key], index), message);
  return undefined;
}

function auditOf({ input: { audit }, folder }: MainSource, { keyError }: Reporter): AuditConfig | undefined {
  if (audit?.enabled !== true) return undefined;
  const { redact, path } = audit;
  const sink = audit.sink ?? (path === undefined ? "stdout" : "file");
  if (sink === "stdout") {
    if (path !== undefined) {
      keyError(["audit", "path"], "only the sink 'file' has a path; write 'sink: file', or remove it");
    }
    return { sink: { kind: "stdout" }, redact };
  }
  if (path === undefined) {
    keyError(["audit", "path"], "missing; name the file that lines are appended to");
    return undefined;
  }
  return { sink: { kind: "file", path: resolve(folder, path) }, redact };
}

/** Warns about settings that are unsafe in combination. */
function warnAboutCombinations(
  { input, host }: MainSource,
  { auth, cors, https }: AccessConfig,
  { securityWarning }: Reporter,
): void {
  if (auth === undefined) return;
  if (cors?.origins === "any") {
    securityWarning(
      ["cors", "allow-origins"],
      "'*' together with auth lets every web page call with credentials that its visitor enters; list the origins",
    );
  }
  if (isLoopback(host)) return;
  if (https === undefined && input["trusted-proxies"] === undefined) {
    securityWarning(["auth"], plainTextCredentialsMessage(host));
  }
  if (input.docs.enabled && !input.docs.auth) {
    securityWarning(
      ["docs"],
      "the documentation of endpoints that need authentication is public; set docs.auth: true, or docs.enabled: false",
    );
  }
}

export function plainTextCredentialsMessage(host: string): string {
  return `clients send credentials in plain text to ${host}; set enforce-https, or listen on 127.0.0.1 behind an HTTPS proxy`;
}
