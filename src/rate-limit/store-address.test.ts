import { expect, test } from "vitest";
import { parseStoreAddress } from "./store-address.ts";

const plain = { username: undefined, password: undefined, db: 0, tls: false };

test.each([
  ["redis://cache", { ...plain, host: "cache", port: 6379, displayName: "cache:6379" }],
  ["redis://cache/", { ...plain, host: "cache", port: 6379, displayName: "cache:6379" }],
  ["redis://127.0.0.1:7000/3", { ...plain, host: "127.0.0.1", port: 7000, db: 3, displayName: "127.0.0.1:7000" }],
  ["redis://[::1]:7000", { ...plain, host: "::1", port: 7000, displayName: "[::1]:7000" }],
  ["rediss://cache:1", { ...plain, host: "cache", port: 1, tls: true, displayName: "cache:1" }],
  ["redis://:p%40ss@cache", { ...plain, password: "p@ss", host: "cache", port: 6379, displayName: "cache:6379" }],
  [
    "redis://me:secret@cache:6380/15",
    { username: "me", password: "secret", db: 15, tls: false, host: "cache", port: 6380, displayName: "cache:6380" },
  ],
])("%s", (text, expected) => {
  expect(parseStoreAddress(text)).toEqual(expected);
});

test.each([
  "",
  "cache:6379",
  "http://cache",
  "redis:///0",
  "redis://cache/x",
  "redis://cache/0/1",
  "redis://cache:66000",
  "redis://cache?tls=true",
  "redis://cache#1",
  "redis://:%zz@cache",
])("%j is no address of a store", (text) => {
  expect(parseStoreAddress(text)).toBeUndefined();
});
