import { resolve } from "node:path";
import type { AuditConfig } from "../audit/audit.ts";
import type { AuthPolicy } from "../auth/policy.ts";
import type { CorsPolicy } from "../http/cors.ts";
import { corsPolicyOf } from "../http/cors-policy.ts";
import { type TrustedProxies, trustedProxies } from "../http/forwarded.ts";
import type { TlsFiles } from "../http/tls.ts";
import type { RateLimitPolicy } from "../rate-limit/policy.ts";
import { parseStoreAddress } from "../rate-limit/store-address.ts";
import { compileAuth } from "./auth-config.ts";
import type { KeyPath } from "./problem.ts";
import type { RateLimitInput } from "./schema/auth.ts";
import type { EndpointInput } from "./schema/endpoint.ts";
import type { MainInput } from "./schema/main.ts";
import { errorAt, keyLocation, partLocation, type Report, type Spot, securityWarningAt, spotAt } from "./tree.ts";

/** Who may call, and how often: of the main file, inherited by every endpoint that has no block of its own. */
export interface EndpointAccess {
  readonly auth: AuthPolicy | undefined;
  readonly rateLimit: RateLimitPolicy | undefined;
}

/** Everything that stands between a listener and the endpoints. decisions.md 1, 9. */
export interface AccessConfig extends EndpointAccess {
  readonly https: HttpsPolicy | undefined;
  readonly proxies: TrustedProxies;
  readonly cors: CorsPolicy | undefined;
  readonly audit: AuditConfig | undefined;
  /** Parameters whose values appear nowhere, also where nothing is audited. */
  readonly redact: readonly string[];
}

/** HTTPS is enforced: by our own TLS, or by whoever stands in front. */
export interface HttpsPolicy {
  readonly tls: TlsFiles | undefined;
}

interface ConfigBlock<Input> {
  readonly input: Input;
  readonly spot: Spot;
}

export function compileAccess(
  source: ConfigBlock<MainInput> & { readonly folder: string; readonly host: string },
  report: Report,
): AccessConfig {
  const { input, spot } = source;
  const auth = input.auth && compileAuth({ input: input.auth, spot, path: ["auth"] }, report);
  const access: AccessConfig = {
    auth,
    rateLimit: rateLimitOf(input["rate-limit"], undefined, source, report),
    https: httpsOf(source, report),
    proxies: proxiesOf(source, report),
    cors: corsOf(source, report),
    audit: auditOf(source, report),
    redact: input.audit?.redact ?? [],
  };
  warnOfCombinations(source, access, report);
  return access;
}

/** An endpoint's own block replaces the global one as a whole; `enabled: false` switches it off. */
export function compileEndpointAccess(
  { input, spot }: ConfigBlock<EndpointInput>,
  inherited: EndpointAccess,
  report: Report,
): EndpointAccess {
  return {
    auth: input.auth === undefined ? inherited.auth : compileAuth({ input: input.auth, spot, path: ["auth"] }, report),
    rateLimit:
      input["rate-limit"] === undefined
        ? inherited.rateLimit
        : rateLimitOf(input["rate-limit"], inherited.rateLimit?.store, { input, spot }, report),
  };
}

/** The store is shared by all: an endpoint that only has other numbers counts in the same place. */
function rateLimitOf(
  block: RateLimitInput | undefined,
  store: string | undefined,
  { spot }: ConfigBlock<unknown>,
  report: Report,
): RateLimitPolicy | undefined {
  if (block?.enabled !== true) return undefined;
  const url = block.store ?? store;
  if (url !== undefined && parseStoreAddress(url) === undefined) {
    const path = ["rate-limit", "store"];
    report(errorAt(partLocation(spot, path), path, "expected redis://host:port or rediss://host:port"));
  }
  return {
    max: block.max,
    intervalSeconds: block.interval,
    key: block.key,
    store: url,
  };
}

function httpsOf(
  { input, spot, folder }: ConfigBlock<MainInput> & { folder: string },
  report: Report,
): HttpsPolicy | undefined {
  const block = input["enforce-https"];
  if (block?.enabled !== true) return undefined;
  const { "ssl-cert-file": certFile, "ssl-key-file": keyFile } = block;
  if (certFile === undefined && keyFile === undefined) return { tls: undefined };
  if (certFile === undefined || keyFile === undefined) {
    const missing = certFile === undefined ? "ssl-cert-file" : "ssl-key-file";
    const path = ["enforce-https", missing];
    report(errorAt(keyLocation(spot, path), path, "missing; a certificate and its key come together"));
    return { tls: undefined };
  }
  return { tls: { certFile: resolve(folder, certFile), keyFile: resolve(folder, keyFile) } };
}

function proxiesOf({ input, spot }: ConfigBlock<MainInput>, report: Report): TrustedProxies {
  const proxies = trustedProxies(input["trusted-proxies"] ?? []);
  for (const { index, message } of proxies.problems) {
    const path = entryPath(spot, ["trusted-proxies"], index);
    report(errorAt(partLocation(spot, path), path, message));
  }
  return proxies;
}

function corsOf({ input, spot }: ConfigBlock<MainInput>, report: Report): CorsPolicy | undefined {
  const { cors } = input;
  if (cors?.enabled !== true) return undefined;
  const found = corsPolicyOf(cors);
  if ("policy" in found) return found.policy;
  for (const { key, index, message } of found.problems) {
    const path = entryPath(spot, ["cors", key], index);
    report(errorAt(partLocation(spot, path), path, message));
  }
  return undefined;
}

/** A list of one may be written without its brackets: then the entry is the key's own value. */
function entryPath(spot: Spot, key: KeyPath, index: number | undefined): KeyPath {
  return index === undefined || spotAt(spot, key).children === undefined ? key : [...key, index];
}

function auditOf(
  { input, spot, folder }: ConfigBlock<MainInput> & { folder: string },
  report: Report,
): AuditConfig | undefined {
  const { audit } = input;
  if (audit?.enabled !== true) return undefined;
  const { redact } = audit;
  const sink = audit.sink ?? (audit.path === undefined ? "stdout" : "file");
  if (sink === "stdout") {
    if (audit.path !== undefined) {
      const path = ["audit", "path"];
      report(
        errorAt(keyLocation(spot, path), path, "only the sink 'file' has a path; write 'sink: file', or remove it"),
      );
    }
    return { sink: { kind: "stdout" }, redact };
  }
  if (audit.path === undefined) {
    const path = ["audit", "path"];
    report(errorAt(keyLocation(spot, path), path, "missing; name the file that lines are appended to"));
    return undefined;
  }
  return { sink: { kind: "file", path: resolve(folder, audit.path) }, redact };
}

/** What is safe by itself and not together. */
function warnOfCombinations(
  { input, spot, host }: ConfigBlock<MainInput> & { host: string },
  { auth, cors, https }: AccessConfig,
  report: Report,
): void {
  if (cors?.origins === "any" && auth !== undefined) {
    const path = ["cors", "allow-origins"];
    report(
      securityWarningAt(
        keyLocation(spot, path),
        path,
        "'*' together with auth lets every web page call with what its visitor knows; name the origins",
      ),
    );
  }
  if (auth !== undefined && https === undefined && !isLoopback(host) && input["trusted-proxies"] === undefined) {
    report(
      securityWarningAt(
        keyLocation(spot, ["auth"]),
        ["auth"],
        `credentials travel readable to ${host}; set enforce-https, or listen on 127.0.0.1 behind a proxy that speaks HTTPS`,
      ),
    );
  }
  if (auth !== undefined && input.docs.enabled && !input.docs.auth && !isLoopback(host)) {
    report(
      securityWarningAt(
        keyLocation(spot, ["docs"]),
        ["docs"],
        "everybody can read the documentation of endpoints that need authentication; set docs.auth: true, or docs.enabled: false",
      ),
    );
  }
}

export function isLoopback(host: string): boolean {
  return /^(?:127(?:\.\d{1,3}){3}|::1|\[::1\]|localhost)$/i.test(host);
}
