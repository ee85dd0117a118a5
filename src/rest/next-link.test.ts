import fc from "fast-check";
import { expect, test } from "vitest";
import { nextLink } from "./next-link.ts";
import { parseQuery } from "./read-params/parse-query.ts";

test.each([
  ["/c", "/c?offset=100"],
  ["/c?", "/c?offset=100"],
  ["/c/", "/c/?offset=100"],
  ["/c?a=1", "/c?a=1&offset=100"],
  ["/c?a=1&", "/c?a=1&offset=100"],
  ["/c?offset=0", "/c?offset=100"],
  ["/c?offset", "/c?offset=100"],
  ["/c?a=1&offset=5&limit=10", "/c?a=1&offset=100&limit=10"],
  ["/c?offset=1&offset=2", "/c?offset=100&offset=2"],
  ["/c?%6Fffset=1&a=%41", "/c?offset=100&a=%41"],
  ["/c?x.offset=1&offsets=2", "/c?x.offset=1&offsets=2&offset=100"],
  ["/c?q=a+b%20c&e=%C3%A9", "/c?q=a+b%20c&e=%C3%A9&offset=100"],
  ["/c?q=O'Brien", "/c?q=O'Brien&offset=100"],
  ["/c?q=a?b/c", "/c?q=a?b/c&offset=100"],
  ["/c?f[a]=1", "/c?f%5Ba%5D=1&offset=100"],
  ['/c?q="<x>{}|\\^`', "/c?q=%22%3Cx%3E%7B%7D%7C%5C%5E%60&offset=100"],
  ["/caf\u00c3\u00a9?q=\u00c3\u00a9", "/caf%C3%A9?q=%C3%A9&offset=100"],
  ["/c?a=1&a=%zz", "/c?a=1&a=%25zz&offset=100"],
  ["http://example.com:8080/c?a=1", "/c?a=1&offset=100"],
  ["http://example.com", "/?offset=100"],
])("%j gives %j", (url, expected) => expect(nextLink(url, 100)).toBe(expected));

test("changes only the offset, and writes legal characters", () => {
  const part = fc.string({
    unit: fc.constantFrom("a", "offset", "=", "&", "%41", "%C3%A9", "+", " ", '"', "[", "é", "😀"),
  });
  fc.assert(
    fc.property(part, fc.nat(), (query, offset) => {
      const sent = Buffer.from(query).toString("latin1");
      const link = nextLink(`/a b?${sent}`, offset);
      expect(link).toMatch(/^\/a%20b\?[A-Za-z0-9\-._~!$&'()*+,;=:@/?%]*$/);
      const { values, errors } = parseQuery(link.slice(link.indexOf("?") + 1));
      const before = parseQuery(sent);
      expect(errors).toEqual(before.errors);
      expect(values.get("offset")?.text).toBe(String(offset));
      const rest = (read: typeof values) => [...read].filter(([name]) => name !== "offset");
      expect(rest(values)).toEqual(rest(before.values));
    }),
  );
});
