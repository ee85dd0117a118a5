import { expect, test } from "vitest";
import { addressBelow, canBeListed, insecureAddressWarning, isRemote, parentOf } from "./remote-address.ts";

test.each([
  ["https://host/api", "x.sql", "https://host/api/x.sql"],
  ["https://host/api/", "./a b/../c d.sql", "https://host/api/c%20d.sql"],
  ["https://host/api?sig=a/b", "sub/x.sql", "https://host/api/sub/x.sql?sig=a/b"],
  ["s3://bucket", "a b.sql", "s3://bucket/a b.sql"],
  ["s3://bucket/api//", "../x.sql", undefined],
  ["s3://bucket/api", "a/../../x.sql", undefined],
])("%s and %s", (folder, name, expected) => {
  expect(addressBelow(folder, name)).toBe(expected);
});

test("the folder of a file, with its query", () => {
  expect(parentOf("s3://bucket/api/x.yaml")).toBe("s3://bucket/api");
  expect(parentOf("https://host/api/x.yaml?a=/b")).toBe("https://host/api?a=/b");
});

test("what is remote, what can be listed, what is insecure", () => {
  expect(["s3://b/x", "HTTPS://h/x", "./x", "/x", "C:\\x", "x.sql"].filter(isRemote)).toEqual([
    "s3://b/x",
    "HTTPS://h/x",
  ]);
  expect(["s3://b", "gs://b", "http://h", "HTTPS://h"].filter(canBeListed)).toEqual(["s3://b", "gs://b"]);
  const urls = [
    "http://host/x",
    "http://u:p@host:80/x",
    "http://127.0.0.1:1/x",
    "http://[::1]/x",
    "https://host/x",
    "x",
  ];
  expect(urls.filter((url) => insecureAddressWarning(url) !== undefined)).toEqual(urls.slice(0, 2));
});
