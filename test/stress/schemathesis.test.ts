import { createHmac } from "node:crypto";
import { expect } from "vitest";
import { describeProject } from "../../src/docs/project-document.ts";
import { everyKind } from "../openapi-project.ts";
import { runSchemathesis, type SchemathesisRun } from "../openapi-tools.ts";
import { testWithPython } from "../python.ts";
import { serviceFrom } from "../service.ts";

/** Somebody else's program reads the document and calls the service, as it allows and as it does not. */
const schemathesis = testWithPython("schemathesis");

const encoded = (part: object): string => Buffer.from(JSON.stringify(part)).toString("base64url");

function tokenOf(secret: string): string {
  const signed = `${encoded({ alg: "HS256", typ: "JWT" })}.${encoded({ sub: "ann" })}`;
  return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
}

const config = `
hooks = "hooks.py"
[auth.openapi.basic]
username = "ann"
password = "secret"
[auth.openapi.bearer]
bearer = "a-token-of-some-length"
[auth.openapi.jwt]
bearer = "${tokenOf("a-secret-of-thirty-two-characters")}"
[checks.positive_data_acceptance]
# A key that was used before is refused, and it uses some twice: of requests and of rows.
expected-statuses = ["2xx", "404", "409", "422"]
`;

/** JSON Schema takes 5.0 for a whole number; the service reads the digits, and takes it for none. */
const hooks = `
import schemathesis

@schemathesis.hook
def map_body(context, body):
    if not isinstance(body, dict):
        return body
    return {key: int(value) if isinstance(value, float) and value.is_integer() else value for key, value in body.items()}
`;

/** What an answer must not contradict. */
const CONFORMANCE = [
  "not_a_server_error",
  "status_code_conformance",
  "content_type_conformance",
  "response_headers_conformance",
  "response_schema_conformance",
  "unsupported_method",
  "missing_required_header",
  "ignored_auth",
];

// Its provider is nowhere, so that it answers 503.
const common = ["--exclude-path", "/oidc", "--seed", "1", "--request-timeout", "10"];

const runs: readonly (readonly [name: string, args: readonly string[]])[] = [
  ["what is right and what is wrong", ["--phases", "coverage,fuzzing", "--checks", CONFORMANCE.join(","), "-n", "8"]],
  // The other phase takes an empty text for an e-mail address.
  [
    "what is right is taken",
    [
      "--phases",
      "fuzzing",
      "--mode",
      "positive",
      "--checks",
      "not_a_server_error,positive_data_acceptance",
      "-n",
      "20",
    ],
  ],
];

for (const [name, args] of runs) {
  schemathesis(`Schemathesis finds no 5xx and nothing that the document does not have: ${name}`, async () => {
    await using service = await serviceFrom(everyKind);
    // A cache has columns when it has been filled.
    await service.get("/table");
    const document = await describeProject(service.service, [service.url]);
    const run: SchemathesisRun = { url: service.url, config, hooks, args: [...common, ...args] };
    const { text, code } = await runSchemathesis(document, run);
    if (code !== 0) console.log(text);
    expect(code).toBe(0);
    expect(Number(/(\d+) generated/.exec(text)?.[1])).toBeGreaterThan(100);
    expect(service.events.filter(({ kind }) => kind === "unexpected")).toEqual([]);
  });
}
