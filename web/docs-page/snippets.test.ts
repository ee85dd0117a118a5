import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { python, testWithPython } from "../../test/python.ts";

interface PageRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body?: string;
}

interface SignIn {
  readonly kind: "basic" | "bearer";
  readonly user: string;
}

interface Snippets {
  readonly LANGUAGES: readonly {
    readonly name: string;
    readonly write: (request: PageRequest, signIn?: SignIn) => string;
  }[];
}

// The page is JavaScript without types; the name is made so that the compiler does not look for them.
const { LANGUAGES }: Snippets = await import(new URL("./snippets.js", import.meta.url).href);

function write(language: string, request: PageRequest, signIn?: SignIn): string {
  const found = LANGUAGES.find(({ name }) => name === language);
  if (found === undefined) throw new Error(`no language ${language}`);
  return found.write(request, signIn);
}

/** What a program would be tempted by: quotes of every language, substitutions, ends of lines. */
const hostile = [
  `'; touch /tmp/hacked; '`,
  '"; $(touch hacked) `touch hacked` $\u007bprocess.exit(1)} #{x} %(x)s {x}',
  "\\' \\\\ ''' \"\"\" \\n \\x41 \\u0041",
  "line one\nline two\r\nthree\ttab",
  "@/etc/passwd",
  "ä €  😀 \u2028 \u007f",
  "-H evil",
];

/** Characters that a text on a page can hold; a shell cannot hold NUL at all. */
const text = fc.string({ unit: "binary", maxLength: 30 }).map((value) => value.toWellFormed().replaceAll("\0", ""));
const headerText = fc.stringMatching(/^[!-~\u00a1-\u00ff]([ -~\u00a1-\u00ff]{0,20}[!-~\u00a1-\u00ff])?$/);

const request = fc.record({
  method: fc.constantFrom("GET", "POST", "PATCH"),
  url: text.map((value) => `http://127.0.0.1:1/a?q=${encodeURIComponent(value)}`),
  headers: fc.array(fc.tuple(fc.constantFrom("X-A", "X-B"), headerText), { maxLength: 2 }),
  body: fc.oneof(text, fc.constantFrom(...hostile)),
});

const uniqueHeaders = (headers: PageRequest["headers"]) => Object.fromEntries(headers);

describe("curl", () => {
  /** The arguments that curl would get: a shell reads the snippet, with a function in curl's place. */
  function argumentsOf(snippet: string): string[] {
    const script = `curl() { for each in "$@"; do printf '%s\\0' "$each"; done; }\n${snippet}\n`;
    const printed = execFileSync("sh", ["-c", script], { encoding: "utf8", env: { TOKEN: "secret" } });
    return printed.split("\0").slice(0, -1);
  }

  test("whatever is typed arrives as it is, and nothing else runs", () => {
    const check = (sent: PageRequest) => {
      const given = argumentsOf(write("curl", sent));
      const expected = [
        ...(sent.method === "GET" ? [] : ["-X", sent.method]),
        sent.url,
        ...sent.headers.flatMap(([name, value]) => ["-H", `${name}: ${value}`]),
        "--data-raw",
        sent.body ?? "",
      ];
      expect(given).toEqual(expected);
    };
    for (const body of hostile) check({ method: "POST", url: "http://127.0.0.1:1/", headers: [["X-A", "b'c"]], body });
    fc.assert(fc.property(request, check), { numRuns: 50 });
  });

  test("a plain read is one line; a header without a value has its own spelling; braces are no patterns", () => {
    expect(write("curl", { method: "GET", url: "http://h/a?b=c%20d", headers: [] })).toBe("curl 'http://h/a?b=c%20d'");
    expect(argumentsOf(write("curl", { method: "GET", url: "http://h/{id}", headers: [["X-A", ""]] }))).toEqual([
      "--globoff",
      "http://h/{id}",
      "-H",
      "X-A;",
    ]);
  });

  test("the user is named, the password is asked for, a token comes from the environment", () => {
    const sent: PageRequest = { method: "GET", url: "http://h/", headers: [["Authorization", "Basic c2VjcmV0"]] };
    const basic = write("curl", sent, { kind: "basic", user: "o'brien" });
    expect(argumentsOf(basic)).toEqual(["http://h/", "--user", "o'brien"]);
    expect(argumentsOf(write("curl", sent, { kind: "bearer", user: "" }))).toEqual([
      "http://h/",
      "-H",
      "Authorization: Bearer secret",
    ]);
  });
});

describe("JavaScript", () => {
  /** What `fetch` would get. The snippet runs with another one in its place. */
  async function fetched(snippet: string): Promise<{ url: string; options: RequestInit }> {
    let seen: { url: string; options: RequestInit } | undefined;
    const fetch = (url: string, options: RequestInit = {}) => {
      seen = { url, options };
      return { status: 200, text: () => "" };
    };
    const AsyncFunction: FunctionConstructor = Object.getPrototypeOf(async () => {}).constructor;
    await new AsyncFunction("fetch", "console", snippet)(fetch, { log: () => {} });
    if (seen === undefined) throw new Error("nothing was fetched");
    return seen;
  }

  test("whatever is typed arrives as it is", async () => {
    const check = async (sent: PageRequest) => {
      const { url, options } = await fetched(write("javascript", sent));
      expect([url, options.method ?? "GET", options.body]).toEqual([sent.url, sent.method, sent.body]);
      expect(options.headers ?? {}).toEqual(uniqueHeaders(sent.headers));
    };
    for (const body of hostile)
      await check({ method: "POST", url: "http://h/", headers: [["X-A", '"b`$\u007bc}']], body });
    await fc.assert(fc.asyncProperty(request, check));
  });

  test("no secret is written down", async () => {
    const sent: PageRequest = { method: "GET", url: "http://h/", headers: [["Authorization", "Bearer secret"]] };
    const basic = write("javascript", sent, { kind: "basic", user: "ä" });
    expect(basic).not.toContain("secret");
    expect((await fetched(basic)).options.headers).toEqual({
      Authorization: `Basic ${Buffer.from("ä:").toString("base64")}`,
    });
    const bearer = write("javascript", sent, { kind: "bearer", user: "" });
    expect(bearer).not.toContain("secret");
    expect((await fetched(bearer)).options.headers).toEqual({ Authorization: "Bearer " });
  });

  test("a plain read is as short as it can be", () => {
    expect(write("javascript", { method: "GET", url: "http://h/", headers: [] })).toBe(
      'const response = await fetch("http://h/");\nconsole.log(response.status, await response.text());',
    );
  });
});

describe("Python", () => {
  /** What `requests` would get from each snippet. One interpreter runs them all, with a module of our own in its place. */
  function requested(snippets: readonly string[]): { method: string; url: string; headers: object; data: string }[] {
    const program = `
import sys, json, types, io, contextlib
seen = []
module = types.ModuleType("requests")
class Answer:
    status_code = 200
    text = ""
def request(method, url, headers={}, data=b"", auth=None):
    seen.append({"method": method, "url": url, "headers": headers, "data": data.decode(), "auth": auth and [part.decode() for part in auth]})
    return Answer()
module.request = request
sys.modules["requests"] = module
for snippet in json.load(sys.stdin):
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(snippet, "snippet", "exec"), {})
print(json.dumps(seen))`;
    return JSON.parse(python(program, JSON.stringify(snippets)));
  }

  testWithPython("json")("whatever is typed arrives as it is", () => {
    const fixed = hostile.map((body): PageRequest => ({ method: "POST", url: "http://h/", headers: [], body }));
    const sent: readonly PageRequest[] = [...fixed, ...fc.sample(request, { numRuns: 200, seed: 1 })];
    const arrived = requested(sent.map((each) => write("python", each)));
    expect(arrived.map(({ method, url, data, headers }) => ({ method, url, data, headers }))).toEqual(
      sent.map(({ method, url, body, headers }) => ({ method, url, data: body, headers: uniqueHeaders(headers) })),
    );
  });

  testWithPython("json")("no secret is written down", () => {
    const sent: PageRequest = { method: "GET", url: "http://h/", headers: [["Authorization", "Bearer secret"]] };
    const snippets = [
      write("python", sent, { kind: "basic", user: "ä'" }),
      write("python", sent, { kind: "bearer", user: "" }),
    ];
    expect(snippets.join()).not.toContain("secret");
    expect(requested(snippets)).toMatchObject([
      { auth: ["ä'", ""], headers: {} },
      { auth: null, headers: { Authorization: "Bearer " } },
    ]);
  });
});
