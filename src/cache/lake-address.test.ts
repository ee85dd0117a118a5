import { expect, test } from "vitest";
import { EngineOpenError } from "../engines/engine.ts";
import { parseLakeAddress } from "./lake-address.ts";

const FROM_URL = "user='me' host='db' port='5433' dbname='cache' sslmode='require'";

test.each([
  ["/data/cache.ducklake", { kind: "file", path: "/data/cache.ducklake" }],
  ["C:\\data\\cache.ducklake", { kind: "file", path: "C:\\data\\cache.ducklake" }],
  ["ducklake:/data/cache.ducklake", { kind: "file", path: "/data/cache.ducklake" }],
  ["duckdb:/data/cache.ducklake", { kind: "file", path: "/data/cache.ducklake" }],
  ["sqlite:/data/cache.sqlite", { kind: "sqlite", path: "/data/cache.sqlite" }],
])("%s", (text, address) => {
  expect(parseLakeAddress(text)).toEqual(address);
});

test.each([
  ["postgres:dbname=cache host=db", "dbname='cache' host='db'", undefined],
  ["postgres:dbname=cache password=geheim host=db", "dbname='cache' host='db'", "geheim"],
  ["ducklake:postgres:dbname=cache\n  password = 'a \\'b\\' \\\\'", "dbname='cache'", "a 'b' \\"],
  ["postgres: dbname=my\\ cache password=''", "dbname='my cache'", ""],
  ["postgres:postgresql://me:a%20b%27@db:5433/cache?sslmode=require", FROM_URL, "a b'"],
  ["postgresql://me:a%20b%27@db:5433/cache?sslmode=require", FROM_URL, "a b'"],
  ["postgres://me@[::1]/cache", "user='me' host='::1' dbname='cache'", undefined],
  ["postgres:", "", undefined],
])("%s", (text, connection, password) => {
  const secrets = password === undefined || password === "" ? [] : [password];
  expect(parseLakeAddress(text)).toEqual({ kind: "postgres", connection, password, secrets });
});

test("every password is a secret, the one that Postgres is not told as one too", () => {
  expect(parseLakeAddress("postgres:sslpassword=one password=two")).toMatchObject({ secrets: ["one", "two"] });
});

test.each(["mysql:db=cache", "md:cache", "postgres:geheim", "postgres:dbname='geheim", "postgres://a:geheim@b:x/y"])(
  "%s is refused, and not shown",
  (text) => {
    const refused = (): unknown => parseLakeAddress(text);
    expect(refused).toThrow(EngineOpenError);
    expect(refused).toThrow(/^metadata-path: (?!.*geheim)/);
  },
);
