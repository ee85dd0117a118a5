import { isIPv6 } from "node:net";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { callerKey } from "./caller-key.ts";

const ip = (address: string): string => callerKey("ip", { address, username: undefined });
const user = (username: string | undefined): string => callerKey("user", { address: "10.0.0.1", username });

describe("addresses", () => {
  test.each([
    ["10.0.0.1", "ip:10.0.0.1"],
    ["::ffff:10.0.0.1", "ip:10.0.0.1"],
    ["::FFFF:a00:1", "ip:10.0.0.1"],
    ["0:0:0:0:0:ffff:192.168.255.1", "ip:192.168.255.1"],
    ["2001:db8:1:2:3:4:5:6", "ip:2001:db8:1:2::/64"],
    ["2001:DB8:1:2::", "ip:2001:db8:1:2::/64"],
    ["2001:db8:1:2::ffff", "ip:2001:db8:1:2::/64"],
    ["2001:0db8:0001:0002:0::1", "ip:2001:db8:1:2::/64"],
    ["2001:db8:1:3::1", "ip:2001:db8:1:3::/64"],
    ["2001:db8::1", "ip:2001:db8:0:0::/64"],
    ["::1", "ip:0:0:0:0::/64"],
    ["fe80::1%eth0", "ip:fe80:0:0:0::/64"],
    // An IPv4 address at the end of others is just its last two groups.
    ["64:ff9b::1.2.3.4", "ip:64:ff9b:0:0::/64"],
  ])("%s is counted as %s", (address, key) => {
    expect(ip(address)).toBe(key);
  });

  test.each([
    "",
    "unix:",
    ":::",
    "1:2:3",
    "1:2:3:4:5:6:7:8:9",
    "1::2::3",
    "1:2:3:4:5:6:7::8",
    "::ffff:1.2.3.999",
    "::g",
  ])("%j is no address, and is counted by itself", (text) => {
    expect(ip(text)).toMatch(/^ip#[\w-]{43}$/);
    expect(ip(`${text}x`)).not.toBe(ip(text));
  });

  test("every IPv6 address is counted with its neighbours, however it is written", () => {
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        fc.pre(isIPv6(address));
        // The parser of URLs writes an address in its one canonical form.
        const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1);
        expect(ip(address)).toMatch(/^ip:[\da-f:.]+(::\/64)?$/);
        expect(ip(canonical)).toBe(ip(address));
      }),
    );
  });
});

describe("users", () => {
  test.each([
    ["ip", "ip:10.0.0.1"],
    ["user", "user:alice"],
    ["user-or-ip", "user:alice"],
  ] as const)("key %s: a user is counted as %s", (key, expected) => {
    expect(callerKey(key, { address: "10.0.0.1", username: "alice" })).toBe(expected);
  });

  test.each(["ip", "user", "user-or-ip"] as const)("key %s: without a name the address counts", (key) => {
    expect(callerKey(key, { address: "10.0.0.1", username: undefined })).toBe("ip:10.0.0.1");
  });

  test("a user with the name of an address is not that address", () => {
    expect(user("10.0.0.1")).not.toBe(ip("10.0.0.1"));
    expect(user("ip:10.0.0.1")).not.toBe(ip("10.0.0.1"));
    expect(user("")).not.toBe(user(undefined));
  });

  test.each(["a b", "a\nb", "a:b", "Ümlaut", "x".repeat(65), "x".repeat(100_000), ""])("%j is hashed", (name) => {
    expect(user(name)).toMatch(/^user#[\w-]{43}$/);
  });

  test("no two users share a key, and none is long or has a space", () => {
    const name = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom("a", "b", ":", " ", "#") }));
    fc.assert(
      fc.property(name, name, (one, other) => {
        expect(user(one) === user(other)).toBe(one === other);
        expect(user(one)).toMatch(/^user[:#]\S{1,64}$/);
      }),
    );
  });
});
