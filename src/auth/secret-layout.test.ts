import fc from "fast-check";
import { expect, test } from "vitest";
import { usersInSecret } from "./secret-layout.ts";

const user = (username: string, password: string, ...roles: readonly string[]) => ({ username, password, roles });

test.each([
  ['{"auth": [{"username": "ann", "password": "p", "roles": ["admin", "ops"]}]}', [user("ann", "p", "admin", "ops")]],
  ['{"auth": [{"username": "ann", "password": "p", "roles": "admin"}]}', [user("ann", "p", "admin")]],
  ['{"auth": [{"username": "ann", "password": "p"}]}', [user("ann", "p")]],
  ['{"auth": [{"username": "ann", "password": "p", "roles": null}]}', [user("ann", "p")]],
  ['{"auth": [{"username": "ann", "password": "p", "roles": [], "team": 7}]}', [user("ann", "p")]],
  ['{"auth": []}', []],
  ["{}", []],
  ['{"ann": "p", "bob": "q"}', [user("ann", "p"), user("bob", "q")]],
  ['{"auth": "p"}', [user("auth", "p")]],
  ['{"auth": "p", "bob": "q"}', [user("auth", "p"), user("bob", "q")]],
  ['{"username": "p"}', [user("username", "p")]],
  ['{"__proto__": "p", "constructor": "q"}', [user("__proto__", "p"), user("constructor", "q")]],
])("%s", (content, users) => {
  expect(usersInSecret(content)).toEqual(users);
  expect(usersInSecret(Buffer.from(content))).toEqual(users);
});

const SHAPE =
  '; expected JSON, {"auth": [{"username": "...", "password": "...", "roles": ["..."]}]} or {"<user>": "<password>"}';

test.each([
  ["hunter2", "it is not JSON"],
  ["", "it is not JSON"],
  ['{"ann": "hunter2"', "it is not JSON"],
  [Buffer.from([0x7b, 0xff, 0x7d]), "it is not JSON"],
  ['"hunter2"', "it is not an object"],
  ["null", "it is not an object"],
  ['["hunter2"]', "it is not an object"],
  ['{"auth": ["hunter2"]}', "auth[0] is not an object"],
  ['{"auth": [{"username": "hunter2"}]}', "auth[0].password is not a non-empty string"],
  ['{"auth": [{"username": "a", "password": ""}]}', "auth[0].password is not a non-empty string"],
  ['{"auth": [{"password": "hunter2"}]}', "auth[0].username is not a non-empty string"],
  [
    '{"auth": [{"username": "a", "password": "b"}, {"username": 7, "password": "hunter2"}]}',
    "auth[1].username is not a non-empty string",
  ],
  [
    '{"auth": [{"username": "a", "password": "b", "roles": {"hunter2": true}}]}',
    "auth[0].roles is neither a string nor a list of strings",
  ],
  [
    '{"auth": [{"username": "a", "password": "b", "roles": ["x", 7]}]}',
    "auth[0].roles is neither a string nor a list of strings",
  ],
  [
    '{"auth": [{"username": "a", "password": "b"}, {"username": "a", "password": "hunter2"}]}',
    "two users have the same name",
  ],
  ['{"auth": [], "hunter2": "x"}', "a password is not a non-empty string"],
  ['{"hunter2": ""}', "a password is not a non-empty string"],
  ['{"hunter2": 7}', "a password is not a non-empty string"],
  ['{"": "hunter2"}', "a user has no name"],
  ['{"username": "ann", "password": "hunter2"}', "it contains a single login instead of a list of users"],
  [
    '{"engine": "mysql", "host": "db", "username": "ann", "password": "hunter2"}',
    "it contains a single login instead of a list of users",
  ],
])("%s is refused, and not shown", (content, reason) => {
  expect(() => usersInSecret(content)).toThrow(new Error(reason + SHAPE));
});

test("whatever a secret holds, it is read as it was meant, or refused without a word of it", () => {
  const word = fc.string({ minLength: 1, unit: "grapheme" });
  fc.assert(
    fc.property(fc.uniqueArray(fc.tuple(word, word, fc.array(word)), { selector: ([name]) => name }), (users) => {
      const auth = users.map(([username, password, roles]) => ({ username, password, roles }));
      expect(usersInSecret(JSON.stringify({ auth }))).toEqual(auth);
    }),
  );
  fc.assert(
    fc.property(fc.json(), (content) => {
      try {
        usersInSecret(content);
      } catch (error) {
        expect(String(error)).toContain(SHAPE);
        expect(String(error).length).toBeLessThan(250);
      }
    }),
  );
});
