import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ServiceEvent } from "../events.ts";
import { RequestFailure } from "../failure.ts";
import type { AuthenticationResult, UserEntry, UserSource } from "./authenticator.ts";
import { type BasicOptions, inlineUsers, openBasic } from "./basic.ts";
import { openHashing } from "./hashing.ts";
import type { Identity } from "./identity.ts";
import { type Derivation, deriveKey } from "./password.ts";
import type { User } from "./policy.ts";

const ROUNDS = 10;
const hashOf = async (password: string, iterations = ROUNDS): Promise<string> => {
  const key = await deriveKey({ password, salt: Buffer.from("salt"), iterations, bytes: 32 });
  return `$pbkdf2-sha256$${iterations}$c2FsdA$${key.toString("base64url")}`;
};

const user = (username: string, password: string, roles: readonly string[] = []): User => ({
  username,
  password,
  roles,
});
const alice = user("alice", await hashOf("wonder"), ["reader", "writer"]);
const bob = user("bob", await hashOf("builder"));

const basic = (username: string, password: string): string =>
  `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;

const unauthorized = { kind: "refused", failure: { kind: "unauthorized", scheme: "basic" } };
const overloaded = { kind: "refused", failure: { kind: "overloaded" } };

type Options = Partial<Omit<BasicOptions, "users">> & { readonly users?: BasicOptions["users"] | readonly User[] };

/** A block at work, with a clock to turn and the real hashing, counted. */
function openTest({ users = [alice, bob], ...options }: Options = {}) {
  const clock = { time: 1_000_000 };
  const derived: Derivation[] = [];
  const events: ServiceEvent[] = [];
  const derive = (derivation: Derivation): Promise<Buffer> => {
    derived.push(derivation);
    return deriveKey(derivation);
  };
  const authenticator = openBasic({
    users: isList(users) ? inlineUsers(users) : users,
    now: () => clock.time,
    hashing: openHashing({ derive }),
    report: (event) => void events.push(event),
    ...options,
  });
  return {
    clock,
    events,
    /** How much was hashed since this was last asked. */
    rounds: () => derived.splice(0).reduce((sum, { iterations }) => sum + iterations, 0),
    show: (authorization: string | undefined) => authenticator.authenticate({ authorization }),
  };
}

function isList(users: NonNullable<Options["users"]>): users is readonly User[] {
  return Array.isArray(users);
}

function identityIn(answer: AuthenticationResult): Identity {
  if (answer.kind === "refused") throw new Error(`refused: ${answer.failure.kind}`);
  return answer.identity;
}

describe("who it is", () => {
  test("a role with a comma is one role, and reported once without its name", async () => {
    const users = [
      { ...alice, roles: ["read,admin", "ops"] },
      { ...bob, roles: ["x,y"] },
    ];
    const { show, events } = openTest({ users });
    expect(identityIn(await show(basic("alice", "wonder"))).get("roles")?.text).toBe("read%2Cadmin,ops");
    await show(basic("bob", "builder"));
    expect(events).toEqual([{ kind: "comma-in-name", variable: "roles" }]);
  });

  test("a user with roles: what templates see", async () => {
    const { show } = openTest();
    const identity = identityIn(await show(basic("alice", "wonder")));
    expect([...identity].map(([name, { text }]) => [name, text])).toEqual([
      ["type", "basic"],
      ["authenticated", "true"],
      ["username", "alice"],
      ["roles", "reader,writer"],
    ]);
    expect(identityIn(await show(basic("bob", "builder"))).has("roles")).toBe(false);
  });

  test.each([
    ["nothing", undefined],
    ["another password", basic("alice", "Wonder")],
    ["somebody else's password", basic("alice", "builder")],
    ["no password", basic("alice", "")],
    ["the hash itself", basic("alice", alice.password)],
    ["another user", basic("Alice", "wonder")],
    ["nobody", basic("", "")],
    ["a name of every object", basic("constructor", "x")],
    ["another scheme", `Bearer ${Buffer.from("alice:wonder").toString("base64")}`],
    ["two joined", `${basic("alice", "wonder")}, ${basic("alice", "wonder")}`],
    ["something unusable", "Basic !!"],
  ])("%s is refused", async (_, authorization) => {
    expect(await openTest().show(authorization)).toEqual(unauthorized);
  });

  test("MD5 and plain text need no hashing of ours", async () => {
    const md5 = createHash("md5").update("old").digest("hex");
    const { show, rounds } = openTest({ users: [user("m", md5), user("p", "plain")] });
    for (const [name, password] of [
      ["m", "old"],
      ["p", "plain"],
    ] as const) {
      expect((await show(basic(name, password))).kind).toBe("identity");
      expect(await show(basic(name, "wrong"))).toEqual(unauthorized);
    }
    expect(await show(basic("nobody", "x"))).toEqual(unauthorized);
    expect(rounds()).toBe(0);
  });

  test("of two users with one name the first counts", async () => {
    const { show } = openTest({ users: [user("a", "first"), user("a", "second")] });
    expect((await show(basic("a", "first"))).kind).toBe("identity");
    expect(await show(basic("a", "second"))).toEqual(unauthorized);
  });

  test("a malformed hash or an empty password lets nobody in", async () => {
    const { show } = openTest({ users: [user("a", "$pbkdf2-sha256$x"), user("b", "")] });
    expect(await show(basic("a", "$pbkdf2-sha256$x"))).toEqual(unauthorized);
    expect(await show(basic("b", ""))).toEqual(unauthorized);
  });

  test("any user and password, in both alphabets, padded or not; no flipped bit", async () => {
    const text = fc.string({ unit: "grapheme", maxLength: 12 }).filter((each) => !/[\p{Cc}\p{Cs}]/u.test(each));
    const name = text.filter((each) => !each.includes(":"));
    const filled = text.filter((each) => each !== "" && !/^[0-9a-f]{32}$/.test(each));
    await fc.assert(
      fc.asyncProperty(name, filled, fc.nat(), async (username, password, seed) => {
        const { show } = openTest({ users: [user(username, password)] });
        const bytes = Buffer.from(`${username}:${password}`);
        const standard = bytes.toString("base64");
        const answers = new Set<Identity>();
        for (const padded of [standard, standard.replaceAll("+", "-").replaceAll("/", "_")]) {
          for (const encoded of [padded, padded.replace(/=+$/, "")]) {
            answers.add(identityIn(await show(`Basic ${encoded}`)));
            const letter = seed % encoded.length;
            const code = encoded.charCodeAt(letter) ^ (1 << (seed % 7));
            const bent = encoded.slice(0, letter) + String.fromCharCode(code) + encoded.slice(letter + 1);
            expect([bent, await show(`Basic ${bent}`)]).toEqual([bent, unauthorized]);
          }
        }
        expect(answers.size).toBe(1);
        const bit = seed % (bytes.length * 8);
        const flipped = bytes.map((byte, index) => (index === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte));
        expect(await show(`Basic ${Buffer.from(flipped).toString("base64")}`)).toEqual(unauthorized);
      }),
    );
  });
});

describe("what it costs", () => {
  test("an unknown user costs as much as the dearest known one, from the first request on", async () => {
    const dear = user("dear", await hashOf("x", 70));
    const users = [alice, dear, user("plain", "plain")];
    const costs = new Map<string, number>();
    for (const name of ["nobody", "alice", "dear", "plain"]) {
      const { show, rounds } = openTest({ users });
      expect(await show(basic(name, "wrong"))).toEqual(unauthorized);
      costs.set(name, rounds());
    }
    expect([...costs.values()]).toEqual([70, 70, 70, 70]);
  });

  test("a source that cannot list its users is learnt", async () => {
    const { find } = inlineUsers([alice]);
    const { show, rounds } = openTest({ users: { find } });
    await show(basic("alice", "wrong"));
    expect(rounds()).toBe(ROUNDS);
    await show(basic("nobody", "wrong"));
    expect(rounds()).toBe(ROUNDS);
  });

  test("the same shown by many at once is hashed once, and all get one identity", async () => {
    const { show, rounds } = openTest();
    const answers = await Promise.all(Array.from({ length: 20 }, () => show(basic("alice", "wonder"))));
    expect(new Set(answers.map(identityIn)).size).toBe(1);
    expect(rounds()).toBe(ROUNDS);
    const refused = await Promise.all(Array.from({ length: 20 }, () => show(basic("alice", "wrong"))));
    expect(refused).toEqual(Array.from({ length: 20 }, () => unauthorized));
    expect(rounds()).toBe(ROUNDS);
  });

  test("more than may wait are rejected, but not cached users", async () => {
    const { show } = openTest({ hashing: openHashing({ concurrency: 1, maxWaiting: 2 }) });
    await show(basic("bob", "builder"));
    const pending = ["wonder", "wrong 1", "wrong 2", "wrong 3", "wrong 4"].map((password) =>
      show(basic("alice", password)),
    );
    expect(show(basic("bob", "builder"))).toMatchObject({ kind: "identity" });
    const answers = await Promise.all(pending);
    expect(answers).toEqual([
      expect.objectContaining({ kind: "identity" }),
      unauthorized,
      unauthorized,
      overloaded,
      overloaded,
    ]);
    // Nobody knows whether it was wrong: it is tried again.
    expect(await show(basic("alice", "wrong 4"))).toEqual(unauthorized);
  });
});

describe("what is remembered", () => {
  test("a good credential, at once and as the same identity, for five minutes", async () => {
    const { show, rounds, clock } = openTest();
    const first = identityIn(await show(basic("alice", "wonder")));
    expect(rounds()).toBe(ROUNDS);
    clock.time += 5 * 60_000 - 1;
    const again = show(basic("alice", "wonder"));
    expect(again).not.toBeInstanceOf(Promise);
    expect(identityIn(await again)).toBe(first);
    // Written another way it is still the same.
    const unpadded = show(basic("alice", "wonder").replace("Basic", "BASIC").replace(/=+$/, ""));
    expect(identityIn(await unpadded)).toBe(first);
    expect(rounds()).toBe(0);
    clock.time += 1;
    expect((await show(basic("alice", "wonder"))).kind).toBe("identity");
    expect(rounds()).toBe(ROUNDS);
  });

  test("no more than fit: the one that was used longest ago goes", async () => {
    const { show, rounds } = openTest({ maxCacheBytes: 2_000 });
    await show(basic("alice", "wonder"));
    await show(basic("bob", "builder"));
    rounds();
    await show(basic("bob", "builder"));
    expect(rounds()).toBe(0);
    await show(basic("alice", "wonder"));
    expect(rounds()).toBe(ROUNDS);
  });

  test("a wrong credential for half a minute; another one is hashed", async () => {
    const { show, rounds, clock } = openTest();
    await show(basic("alice", "wrong"));
    rounds();
    clock.time += 29_999;
    expect(await show(basic("alice", "wrong"))).toEqual(unauthorized);
    expect(rounds()).toBe(0);
    expect(await show(basic("alice", "wronger"))).toEqual(unauthorized);
    expect(rounds()).toBe(ROUNDS);
    clock.time += 1;
    expect(await show(basic("alice", "wrong"))).toEqual(unauthorized);
    expect(rounds()).toBe(ROUNDS);
  });

  test("a changed password, changed roles and a deleted user count at once", async () => {
    let entry: UserEntry | undefined = { password: alice.password, roles: ["reader"] };
    const users: UserSource = { find: async () => entry };
    const { show, rounds } = openTest({ users });
    const rolesOf = async (password: string) => identityIn(await show(basic("alice", password))).get("roles")?.text;
    expect(await rolesOf("wonder")).toBe("reader");
    rounds();
    expect(await rolesOf("wonder")).toBe("reader");
    // The costly check is remembered.
    expect(rounds()).toBe(0);
    entry = { password: alice.password, roles: ["admin"] };
    expect(await rolesOf("wonder")).toBe("admin");
    entry = { password: bob.password, roles: [] };
    expect(await show(basic("alice", "wonder"))).toEqual(unauthorized);
    expect((await show(basic("alice", "builder"))).kind).toBe("identity");
    entry = undefined;
    expect(await show(basic("alice", "builder"))).toEqual(unauthorized);
    entry = { password: alice.password, roles: ["reader"] };
    expect(await rolesOf("wonder")).toBe("reader");
  });
});

test("nobody is locked out by wrong passwords", async () => {
  const { show, rounds } = openTest();
  for (let count = 0; count < 300; count++)
    expect(await show(basic("alice", `wrong ${count % 3}`))).toEqual(unauthorized);
  rounds();
  expect((await show(basic("alice", "wonder"))).kind).toBe("identity");
  expect((await show(basic("bob", "builder"))).kind).toBe("identity");
});

test.each([
  ["what it says", new RequestFailure({ kind: "provider-down" }), { kind: "provider-down" }],
  ["an internal failure", new Error("no such table"), { kind: "internal" }],
])("a source that fails: %s, and nothing is remembered", async (_, error, failure) => {
  let failing = true;
  const users: UserSource = {
    find: () => {
      if (failing) throw error;
      return alice;
    },
  };
  const { show } = openTest({ users });
  expect(await show(basic("alice", "wonder"))).toEqual({ kind: "refused", failure });
  failing = false;
  expect((await show(basic("alice", "wonder"))).kind).toBe("identity");
});
