import { expect, test } from "vitest";
import { credentialsIn, isCredentialName, maskOf, messageMask } from "./secrets.ts";

test.each([
  ["host=db password=hunter2 port=1", [], "host=db password=*** port=1"],
  ["host=db password='a b' port=1", [], "host=db password=*** port=1"],
  ["host=db password='it\\'s a \\\\' port=1", [], "host=db password=*** port=1"],
  ["password='it\\'s a \\\\' port=1", ["host=db password='it\\'s a \\\\'"], "password=*** port=1"],
  ["postgres://me:hunter2@db/x", [], "postgres://me:***@db/x"],
  ["postgres://me:p@ss/word@db/x", [], "postgres://me:***@db/x"],
  ["SET s3_secret_access_key = 'abc'", [], "SET s3_secret_access_key = ***"],
  ["SET s3_secret_access_key = 'abc\\'", [], "SET s3_secret_access_key = ***"],
  [
    "CREATE SECRET x (TYPE s3, KEY_ID 'AK', SECRET 'a''b', REGION 'eu')",
    [],
    "CREATE SECRET x (TYPE s3, KEY_ID ***, SECRET ***, REGION 'eu')",
  ],
  ['{"client_secret": "a\\"b", "n": 1}', [], '{"client_secret": ***, "n": 1}'],
  ["MAP {'Authorization': 'Bearer abc'}", [], "MAP {'Authorization': ***}"],
  ["header Authorization: Bearer abcdef", [], "header Authorization: *** ***"],
  ["cannot open sesame-4711 here", ["sesame-4711"], "cannot open *** here"],
  ["abcd and abcdef", ["abcd", "abcdef"], "*** and ***"],
  ["line 1 of EU", ["1", "EU", ""], "line 1 of EU"],
  // As others quote it.
  ["'it''s-secret' \\'", ["it's-secret"], "'***' \\'"],
  ["\\'it\\'s-secret\\'", ["it's-secret"], "\\'***\\'"],
  ['"a\\"b\\nc"', ['a"b\nc'], '"***"'],
  ["/p%40ss%2fword/", ["p@ss/word"], "/***/"],
  ["FATAL p@ss/word", ["p%40ss%2Fword"], "FATAL ***"],
  ['missing "=" after "open" in connection', ["sesame open"], 'missing "=" after "***" in connection'],
  ["for HUNTER22", ["hunter22"], "for ***"],
  ["password of u is pa$$w0rd", ["postgres://u:pa$$w0rd@db"], "password of u is ***"],
])("%s with %j", (message, secrets, expected) => {
  expect(messageMask(secrets)(message)).toBe(expected);
});

test("statements of ours keep what only looks like a credential", () => {
  expect(maskOf(["hunter22"])("WHERE token = $1 AND x = 'hunter22'")).toBe("WHERE token = $1 AND x = '***'");
});

test.each([
  ["ATTACH 'postgres://me:hunter2@db/x' AS pg", ["hunter2"]],
  ["ATTACH 'host=db password=hunter2' AS pg", ["hunter2"]],
  ["host=db password='it\\'s a \\\\' port=1", ["it\\", "it's a \\"]],
  ["CREATE SECRET (TYPE http, BEARER_TOKEN 'abc''d', EXTRA_HTTP_HEADERS MAP {'X-Api-Key': 'k1'})", ["abc'd", "k1"]],
  ["'http://host:80/a' 'redis://:pw1@h' 'https://u:a%40b@h/x@y'", ["pw1", "a%40b@h/x"]],
  ["SELECT 1", []],
])("%s", (sql, found) => {
  expect(credentialsIn(sql)).toEqual(found);
});

test.each(["password", "s3_secret_access_key", "motherduck_token", "api-key", "KEY_ID"])(
  "%s names a credential",
  (name) => {
    expect(isCredentialName(name)).toBe(true);
  },
);

test.each([
  "token".repeat(100_000),
  "a://".repeat(100_000),
  "a://:".repeat(100_000),
  `password="${"\\".repeat(300_000)}`,
  `password='${"\\'".repeat(300_000)}`,
])(
  "a hostile message takes its time, not more",
  (message) => {
    expect(messageMask(["hunter22"])(message).length).toBeGreaterThan(0);
  },
  5_000,
);
