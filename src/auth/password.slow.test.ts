import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  costOf,
  type Derivation,
  deriveKey,
  hashPassword,
  matchesHash,
  matchesWithoutPbkdf2,
  parseStoredPassword,
} from "./password.ts";

const SALT = "c2FsdHNhbHRzYWx0c2FsdA";
const HASH = "A".repeat(43);

/** As the authenticator does it, with no extra cost. */
async function matches(password: string, stored: string): Promise<boolean> {
  const shape = parseStoredPassword(stored);
  return matchesWithoutPbkdf2(password, shape) || (await matchesHash(password, shape, { derive: deriveKey, cost: 0 }));
}

describe("shapes", () => {
  test.each([
    [`$pbkdf2-sha256$600000$${SALT}$${HASH}`, "pbkdf2"],
    [`$pbkdf2-sha256$1$${SALT}==$${HASH}=`, "pbkdf2"],
    [`$pbkdf2-sha256$10000000$a-_b$${HASH}`, "pbkdf2"],
    [`$pbkdf2-sha256$1$a+/b$${HASH}`, "pbkdf2"],
    [`$pbkdf2-sha256$1$a./b$${HASH}`, "pbkdf2"],
    ["5f4dcc3b5aa765d61d8327deb882cf99", "md5"],
    ["5F4DCC3B5AA765D61D8327DEB882CF99", "plain"],
    ["5f4dcc3b5aa765d61d8327deb882cf9", "plain"],
    ["5f4dcc3b5aa765d61d8327deb882cf99\n", "plain"],
    ["secret", "plain"],
    ["$pbkdf2-sha512$1$a$b", "plain"],
    [" $pbkdf2-sha256$", "plain"],
  ])("%s is %s", (text, kind) => expect(parseStoredPassword(text).kind).toBe(kind));

  test.each([
    ["", "it is empty"],
    ["$pbkdf2-sha256$", "it is not $pbkdf2-sha256$<iterations>$<salt>$<hash>"],
    [`$pbkdf2-sha256$1$${SALT}`, "it is not $pbkdf2-sha256$<iterations>$<salt>$<hash>"],
    [`$pbkdf2-sha256$1$${SALT}$${HASH}$`, "it is not $pbkdf2-sha256$<iterations>$<salt>$<hash>"],
    [`$pbkdf2-sha256$0$${SALT}$${HASH}`, "its iterations are not a number from 1 to 10000000"],
    [`$pbkdf2-sha256$10000001$${SALT}$${HASH}`, "its iterations are not a number from 1 to 10000000"],
    [`$pbkdf2-sha256$1e3$${SALT}$${HASH}`, "its iterations are not a number from 1 to 10000000"],
    [`$pbkdf2-sha256$-1$${SALT}$${HASH}`, "its iterations are not a number from 1 to 10000000"],
    [`$pbkdf2-sha256$i=1000$${SALT}$${HASH}`, "its iterations are not a number from 1 to 10000000"],
    [`$pbkdf2-sha256$1$$${HASH}`, "its salt is not base64"],
    [`$pbkdf2-sha256$1$a!$${HASH}`, "its salt is not base64"],
    [`$pbkdf2-sha256$1$abcde$${HASH}`, "its salt is not base64"],
    [`$pbkdf2-sha256$1$${SALT}$`, "its hash is not base64"],
    [`$pbkdf2-sha256$1$${SALT}$${HASH} `, "its hash is not base64"],
    [`$pbkdf2-sha256$1$${SALT}$AAAA`, "its hash has 3 bytes, not 16 to 64"],
    [`$pbkdf2-sha256$1$${SALT}$${"A".repeat(88)}`, "its hash has 66 bytes, not 16 to 64"],
  ])("%s is malformed and matches nothing, itself neither", async (text, reason) => {
    expect(parseStoredPassword(text)).toEqual({ kind: "malformed", reason });
    expect([await matches(text, text), await matches("", text)]).toEqual([false, false]);
  });
});

describe("matching", () => {
  // Made with Python's hashlib.pbkdf2_hmac; the last but one as passlib writes it.
  test.each([
    ["$pbkdf2-sha256$1000$TgdAhWK+24tgzgXB3s/jrQ==$D2M6FTsGAdM0lqGLiTpHaPuUzp9h1vk0xmPFO+piF/8="],
    ["$pbkdf2-sha256$1$5/bAEXdujbfNMwtUF0/Xbw$/wiahlSrKgnR/phA+wlV7nrTrb4m9LqQS9a8nSsUgAc"],
    ["$pbkdf2-sha256$60000$eQJpm-Qsio5G-7tFAXJlFw==$vf12fBw8uFKuDq4mbVaUlJm1_D1dvTuYeIHl48AUoqo="],
    ["$pbkdf2-sha256$29000$lADxshy1J9f6PT6rupNVeg$Fa8Tn13XJwmXd537o_1nEvSv-Yw"],
    ["$pbkdf2-sha256$6400$NRNaqmzCOJG0DLPzeMU6Fw$wXYnR0jSB97T.FcjTO99fKavjFB..zh/zCNrrIorBwM"],
    [
      "$pbkdf2-sha256$2$YktgxYydi/tv8YhsL9YF0g==$PsAXIKmXAVMOfUAVJcTYORw63O0UiCci+x/LwntE6ajRLlk/4/E6MWdMyx36Rw9+5/75tDHmFGl90Bpg+h/quA==",
    ],
  ])("%s", async (stored) => {
    expect(await matches("pässword: 1", stored)).toBe(true);
    expect(await matches("pässword: 2", stored)).toBe(false);
    expect(await matches("", stored)).toBe(false);
  });

  test("MD5 and plain text", async () => {
    const md5 = createHash("md5").update("pässword").digest("hex");
    expect([await matches("pässword", md5), await matches(md5, md5)]).toEqual([true, false]);
    expect([await matches("x y", "x y"), await matches("x ", "x y"), await matches("", "x")]).toEqual([
      true,
      false,
      false,
    ]);
  });

  test("one flipped bit of a hash or of a password matches no more", async () => {
    const password = "correct horse";
    const salt = Buffer.from("0123456789abcdef");
    const hash = await deriveKey({ password, salt, iterations: 3, bytes: 32 });
    const stored = (salted: Buffer, hashed: Buffer): string =>
      `$pbkdf2-sha256$3$${salted.toString("base64")}$${hashed.toString("base64url")}`;
    expect(await matches(password, stored(salt, hash))).toBe(true);
    await fc.assert(
      fc.asyncProperty(
        fc.nat(255),
        fc.nat(127),
        fc.nat(password.length * 7 - 1),
        async (inHash, inSalt, inPassword) => {
          expect(await matches(password, stored(salt, flipped(hash, inHash)))).toBe(false);
          expect(await matches(password, stored(flipped(salt, inSalt), hash))).toBe(false);
          const bit = Math.floor(inPassword / 7) * 8 + (inPassword % 7);
          expect(await matches(flipped(Buffer.from(password), bit).toString(), stored(salt, hash))).toBe(false);
        },
      ),
    );
  });
});

function flipped(bytes: Buffer, bit: number): Buffer {
  return Buffer.from(bytes.map((byte, index) => (index === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte)));
}

test("a new hash: 600000 rounds, 16 bytes of salt, 32 of hash, another one each time", async () => {
  const [one, two] = await Promise.all([hashPassword("pässword"), hashPassword("pässword")]);
  expect(one).toMatch(/^\$pbkdf2-sha256\$600000\$[\w-]{22}\$[\w-]{43}$/);
  expect(parseStoredPassword(one)).toMatchObject({ kind: "pbkdf2", iterations: 600_000 });
  expect(one.split("$")[3]).not.toBe(two.split("$")[3]);
  expect([await matches("pässword", one), await matches("passwörd", two)]).toEqual([true, false]);
});

describe("a wrong password costs the same whatever is stored", () => {
  const hashOf = async (iterations: number, bytes: number): Promise<string> => {
    const key = await deriveKey({ password: "right", salt: Buffer.from("salt"), iterations, bytes });
    return `$pbkdf2-sha256$${iterations}$c2FsdA$${key.toString("base64url")}`;
  };

  async function roundsOf(password: string, stored: string, cost: number): Promise<number> {
    let rounds = 0;
    const derive = (derivation: Derivation): Promise<Buffer> => {
      rounds += derivation.iterations * Math.ceil(derivation.bytes / 32);
      return deriveKey(derivation);
    };
    await matchesHash(password, parseStoredPassword(stored), { derive, cost });
    return rounds;
  }

  test("in rounds", async () => {
    const [small, large, long] = [await hashOf(10, 32), await hashOf(500, 32), await hashOf(100, 64)];
    expect([small, large, long].map((stored) => costOf(parseStoredPassword(stored)))).toEqual([10, 500, 200]);
    for (const stored of [small, large, long, "plain", "5f4dcc3b5aa765d61d8327deb882cf99", "", "$pbkdf2-sha256$"]) {
      expect([stored, await roundsOf("wrong", stored, 500)]).toEqual([stored, 500]);
    }
    expect(await roundsOf("right", small, 500)).toBe(10);
  });
});
