import { expect, test } from "vitest";
import { hashPassword } from "./password.ts";
import { passwordWarnings } from "./secret-warnings.ts";

test("counts passwords that are no good hashes, and shows none", async () => {
  const passwords = [
    await hashPassword("hunter2"),
    "hunter2",
    "hunter3",
    "5f4dcc3b5aa765d61d8327deb882cf99",
    "$pbkdf2-sha256$hunter2",
  ];
  const users = passwords.map((password, index) => ({ username: `user${index}`, password, roles: [] }));
  expect(passwordWarnings(users)).toEqual([
    "2 of 5 passwords: a plain password is for local demos only; make a hash with `eider hash-password`",
    "1 of 5 passwords: an MD5 hash is deprecated and quickly guessed; make a better one with `eider hash-password`",
    "1 of 5 passwords: a hash that cannot be read matches nothing; make one with `eider hash-password`",
  ]);
  expect(passwordWarnings(users.slice(0, 1))).toEqual([]);
});
