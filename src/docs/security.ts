import { discoveryUrl } from "../auth/oidc/metadata.ts";
import type { AuthPolicy, OidcPolicy } from "../auth/policy.ts";
import type { Components } from "./components.ts";
import type { JsonObject } from "./json.ts";

/** The security requirement of an auth policy. Undefined without a policy. */
export function securityOf(
  policy: AuthPolicy | undefined,
  issuers: readonly string[],
  components: Components,
): readonly JsonObject[] | undefined {
  if (policy === undefined) return undefined;
  return [{ [schemeOf(policy, issuers, components)]: [] }];
}

function schemeOf(policy: AuthPolicy, issuers: readonly string[], components: Components): string {
  switch (policy.kind) {
    case "basic":
      return components.securityScheme("basic", () => ({ type: "http", scheme: "basic" }));
    case "bearer":
      return policy.jwt === undefined
        ? components.securityScheme("bearer", () => ({ type: "http", scheme: "bearer" }))
        : components.securityScheme("jwt", () => ({ type: "http", scheme: "bearer", bearerFormat: "JWT" }));
    case "oidc":
      return oidcScheme(policy, issuers, components);
  }
}

function oidcScheme(policy: OidcPolicy, issuers: readonly string[], components: Components): string {
  if (policy.provider === "github") {
    // GitHub issues no signed tokens and has no discovery document.
    const description = "An access token of GitHub.";
    return components.securityScheme("github", () => ({ type: "http", scheme: "bearer", description }));
  }
  const number = issuers.indexOf(policy.issuerUrl);
  return components.securityScheme(number < 1 ? "oidc" : `oidc_${number + 1}`, () => ({
    type: "openIdConnect",
    openIdConnectUrl: discoveryUrl(policy),
  }));
}

/** The issuers of a project, sorted. */
export function issuersOf(policies: readonly (AuthPolicy | undefined)[]): readonly string[] {
  const urls = policies.flatMap((policy) =>
    policy?.kind === "oidc" && policy.provider !== "github" ? policy.issuerUrl : [],
  );
  return [...new Set(urls)].sort();
}
