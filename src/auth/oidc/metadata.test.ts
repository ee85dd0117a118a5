import { expect, test } from "vitest";
import { openAgainst } from "../../../test/oidc-provider.ts";
import { discoveryUrl, readMetadata } from "./metadata.ts";

const { policy } = openAgainst("https://id.test/realm");
const document = { issuer: "https://id.test/realm", jwks_uri: "https://keys.test/", token_endpoint: "https://t.test/" };

test("what is said and what is not", () => {
  expect(discoveryUrl(policy)).toBe("https://id.test/realm/.well-known/openid-configuration");
  expect(readMetadata(policy, document)).toEqual({
    issuer: "https://id.test/realm",
    keysUrl: "https://keys.test/",
    tokenUrl: "https://t.test/",
    secretMethods: ["client_secret_basic"],
  });
});

test("an issuer that is reached over https sends us to no plain address", () => {
  expect(() => readMetadata(policy, { ...document, jwks_uri: "http://keys.test/" })).toThrow(/no usable jwks_uri/);
  expect(readMetadata(policy, { ...document, token_endpoint: "http://t.test/" }).tokenUrl).toBeUndefined();
});

test.each<[unknown, readonly string[]]>([
  [["client_secret_post"], ["client_secret_post"]],
  [
    ["private_key_jwt", "client_secret_post", "client_secret_basic"],
    ["client_secret_basic", "client_secret_post"],
  ],
  [["private_key_jwt"], ["client_secret_basic"]],
  ["client_secret_post", ["client_secret_basic"]],
])("ways to show the secret, %j: %j", (offered, expected) => {
  const told = { ...document, token_endpoint_auth_methods_supported: offered };
  expect(readMetadata(policy, told).secretMethods).toEqual(expected);
});
