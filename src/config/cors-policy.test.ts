import { expect, test } from "vitest";
import { type CorsInput, corsPolicyOf } from "./cors-policy.ts";
import { cors } from "./schema/main.ts";

/** With the defaults of the schema. */
const policyOf = (input: Partial<CorsInput>) => corsPolicyOf({ ...cors.parse({}), ...input });

const messages = (input: Partial<CorsInput>): readonly string[] => {
  const found = policyOf(input);
  return "problems" in found
    ? found.problems.map(({ key, index, message }) => `${key}${index === undefined ? "" : `[${index}]`}: ${message}`)
    : [];
};

test("what is not said: any header, the methods of endpoints, ten minutes", () => {
  expect(policyOf({ "allow-origins": ["https://app.example.com"] })).toEqual({
    policy: {
      origins: ["https://app.example.com"],
      headers: "any",
      methods: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"],
      credentials: false,
      maxAgeSeconds: 600,
    },
  });
});

test("everything said", () => {
  expect(
    policyOf({
      "allow-origins": ["https://a.example", "null", "https://a.example"],
      "allow-headers": ["Authorization", "X-Own"],
      "allow-methods": ["get", "Post"],
      "allow-credentials": true,
      "max-age": 0,
    }),
  ).toEqual({
    policy: {
      origins: ["https://a.example", "null"],
      headers: ["Authorization", "X-Own"],
      methods: ["GET", "POST"],
      credentials: true,
      maxAgeSeconds: 0,
    },
  });
});

test.each<[Partial<CorsInput>, object]>([
  [{ "allow-origins": ["*"] }, { origins: "any" }],
  [{ "allow-origins": ["https://a.example", "*"] }, { origins: "any" }],
  [{ "allow-origins": ["*"], "allow-headers": ["*"] }, { headers: "any" }],
  [{ "allow-origins": ["*"], "allow-headers": ["X-Own", "*"] }, { headers: "any" }],
  [{ "allow-origins": ["*"], "allow-headers": [] }, { headers: [] }],
  [{ "allow-origins": ["*"], "allow-methods": ["*"] }, { methods: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] }],
  [{ "allow-origins": ["*"], "allow-methods": [] }, { methods: [] }],
])("%j", (input, expected) => expect(policyOf(input)).toMatchObject({ policy: expected }));

test.each<[string, string]>([
  ["https://app.example.com", "https://app.example.com"],
  ["HTTPS://App.Example.COM", "https://app.example.com"],
  ["https://app.example.com:443", "https://app.example.com"],
  ["http://app.example.com:80", "http://app.example.com"],
  ["https://app.example.com:8443", "https://app.example.com:8443"],
  ["http://localhost:3000", "http://localhost:3000"],
  ["http://127.0.0.1:3000", "http://127.0.0.1:3000"],
  ["http://[::1]:3000", "http://[::1]:3000"],
  ["https://bücher.example", "https://xn--bcher-kva.example"],
  ["https://*.example.com", "https://*.example.com"],
  ["https://*.Example.com:443", "https://*.example.com"],
  ["http://*.localhost:3000", "http://*.localhost:3000"],
  ["https://*.bücher.example", "https://*.xn--bcher-kva.example"],
  ["chrome-extension://abcdefgh", "chrome-extension://abcdefgh"],
  ["capacitor://localhost", "capacitor://localhost"],
  ["null", "null"],
])("%s is how browsers say %s", (origin, expected) => {
  expect(policyOf({ "allow-origins": [origin] })).toMatchObject({ policy: { origins: [expected] } });
});

test.each([
  "app.example.com",
  "//app.example.com",
  "https://",
  "https://app.example.com/",
  "https://app.example.com/path",
  "https://app.example.com?a",
  "https://app.example.com#a",
  "https://user@app.example.com",
  "https://app.example.com:99999",
  "https://app.example.com:x",
  "https://app.example.com:*",
  "https://*",
  "https://*:8443",
  "https://*.",
  "https://*app.example.com",
  "https://app.*.example.com",
  "https://*.*.example.com",
  "https://*.0.0.1",
  "*.example.com",
  "https:/app.example.com",
  "https://a.example, https://b.example",
  "https://a.example https://b.example",
  "https://a.example\\b",
  "file://",
  "file:///a.html",
  "file://host",
  "mailto:someone",
  "NULL",
  "**",
])("%j is no origin", (origin) => {
  expect(messages({ "allow-origins": ["https://fine.example", origin] })).toEqual([
    `allow-origins[1]: expected an origin, https://app.example.com or https://*.example.com, without a path, found '${origin}'`,
  ]);
});

test("everything that is wrong is told at once", () => {
  const input = {
    "allow-origins": ["*", "nowhere"],
    "allow-headers": ["fine", "not fine", ""],
    "allow-methods": ["GET", "FETCH"],
    "allow-credentials": true,
  };
  expect(messages(input)).toEqual([
    "allow-origins[1]: expected an origin, https://app.example.com or https://*.example.com, without a path, found 'nowhere'",
    "allow-headers[1]: expected the name of a header or '*', found 'not fine'",
    "allow-headers[2]: expected the name of a header or '*', found ''",
    "allow-methods[1]: expected one of GET, HEAD, POST, PUT, PATCH, DELETE or '*', found 'FETCH'",
    "allow-origins[0]: '*' does not go with allow-credentials, browsers refuse it; list the origins",
  ]);
});

test.each<[Partial<CorsInput>]>([[{}], [{ "allow-origins": [] }], [{ "allow-credentials": true }]])(
  "%j says nothing of who may call",
  (input) => {
    expect(messages(input)).toEqual([
      "allow-origins: expected the origins whose pages may call, https://app.example.com, or '*' for any",
    ]);
  },
);
