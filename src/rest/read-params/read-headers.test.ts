import { expect, test } from "vitest";
import { isJsonContentType } from "../../http/content-type.ts";
import type { Parameter } from "../../params/parameter.ts";
import { headersOf, readHeaders } from "./read-headers.ts";

test("only the headers that parameters name are read", () => {
  const declare = (name: string, location: Parameter["in"]): Parameter => ({
    name,
    in: location,
    description: undefined,
    required: false,
    default: undefined,
    validators: [],
  });
  const wanted = headersOf([
    declare("x_user_region", "header"),
    declare("id", "query"),
    declare("constructor", "header"),
  ]);
  expect(wanted).toEqual(["x-user-region", "constructor"]);
  const headers = { "x-user-region": "eu", accept: "*/*", id: "1" };
  expect([...readHeaders(headers, wanted)]).toEqual([["x-user-region", { kind: "text", text: "eu" }]]);
  expect(readHeaders(headers, []).size).toBe(0);
});

test.each([
  ["plain", "plain"],
  ["", ""],
  ["100%", "100%"],
  ["%C3%A9", "%C3%A9"],
  [Buffer.from("é 100%").toString("latin1"), "é 100%"],
  ["caf\u00e9", "café"],
])("header %j reads %j", (sent, text) => {
  expect(readHeaders({ x: sent }, ["x"]).get("x")).toEqual({ kind: "text", text });
});

test("repeated headers are joined", () => {
  expect(readHeaders({ "set-cookie": ["a", "b"] }, ["set-cookie"]).get("set-cookie")?.text).toBe("a, b");
});

test.each([
  "application/json",
  "Application/JSON",
  "application/json; charset=utf-8",
  "application/json;charset=UTF-8",
  'application/json; charset="utf-8"',
  "application/json ; charset=utf8 ",
  "application/json; profile=x; charset=utf-8",
  'application/json; profile="a; charset=latin1"',
  "application/json;",
])("%j is JSON", (header) => expect(isJsonContentType(header)).toBe(true));

test.each([
  undefined,
  "",
  "text/plain",
  "text/json",
  "application/jsonp",
  "application/ld+json",
  "application/x-www-form-urlencoded",
  "application/json; charset=latin1",
  "application/json; charset=utf-16",
  'application/json; charset="iso-8859-1"',
  "application/json, text/plain",
  "application/json; charset",
])("%j is not", (header) => expect(isJsonContentType(header)).toBe(false));
