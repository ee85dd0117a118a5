import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { commands } from "../../src/cli/index.ts";
import { type Files, folderWith, run, runHere, start, startHere } from "./program.ts";

const MAIN = "connections: { memory: {} }\nhttp-port: 0\n";
const hello: Files = {
  "eider.yaml": MAIN,
  "hello.yaml": "url-path: /hello\ntemplate-source: hello.sql\nconnection: memory\nwith-pagination: false\n",
  "hello.sql": "SELECT 'hello' AS say",
};

describe("help and version", () => {
  test("--help lists the commands", async () => {
    const { code, stdout, stderr } = await runHere({}, { args: ["--help"] });
    expect([code, stderr]).toEqual([0, ""]);
    for (const { name, summary } of commands) expect(stdout).toContain(`  ${name.padEnd(14)} ${summary}\n`);
  });

  test.each(commands.map(({ name, help }) => [name, help]))("eider %s --help", async (name, help) => {
    expect(await runHere({}, { args: [name, "--help"] })).toEqual({ code: 0, stdout: `${help}\n`, stderr: "" });
    expect(help).toMatch(/^Usage: eider /);
    expect(help).toContain("Example:\n");
  });

  test("--version is the version of the package", async () => {
    const manifest = await readFile(join(import.meta.dirname, "../../package.json"), "utf8");
    const { code, stdout } = await run({}, { args: ["--version"] });
    expect([code, stdout]).toEqual([0, `eider ${JSON.parse(manifest).version}\n`]);
  });
});

describe("exit code 2: wrong usage", () => {
  const usage = [
    [["nonsense"], "unknown command 'nonsense'"],
    [["--nonsense"], "--nonsense"],
    [["check", "--nonsense"], "--nonsense"],
    [["check", "extra"], "extra"],
    [["serve", "--offline"], "--offline"],
    [["--port", "many"], "--port: 'many' is not a port"],
    [["--port", "65536"], "--port: '65536' is not a port"],
    [["--port=-1"], "--port: '-1' is not a port"],
    [["--port"], "port"],
    [["--log-level", "loud"], "--log-level: 'loud' is not valid"],
    [["--log-format", "xml"], "--log-format: 'xml' is not valid"],
  ] as const;

  test.each(usage)("%j", async (args, message) => {
    const { code, stdout, stderr } = await runHere(hello, { args });
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(/^eider: .*\nTry: eider --help\n$/s);
    expect(stderr).toContain(message);
  });

  test("the process says so too", async () => {
    const { code, stdout, stderr } = await run(hello, { args: ["--port", "many"] });
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(/^eider: --port: 'many' is not a port; [^\n]*\nTry: eider --help\n$/);
  });
});

describe("exit code 1: a problem in the project", () => {
  test.each([
    [
      "no main file",
      {},
      [],
      /^eider: there is no project in this folder: .*\n {2}eider init .*\n {2}eider dev FILE.*\n {2}eider serve -c .*\n$/,
    ],
    ["no main file for serve", {}, ["serve", "-p", "0"], /^eider: there is no project in this folder: /],
    ["no main file for dev", {}, ["dev"], /^eider: there is no project in this folder: /],
    [
      "no main file for check",
      {},
      ["check"],
      /^eider\.yaml:1:1: not found, and neither is eider\.yml or flapi\.yaml; .*\n$/,
    ],
    ["a main file in the environment", {}, [], /^gone\.yaml:1:1: not found; .*\n$/, { EIDER_CONFIG: "gone.yaml" }],
    ["a main file that is not there", hello, ["-c", "other.yaml"], /^other\.yaml:1:1: not found; .*\n$/],
    [
      "problems of two files, a line each",
      { ...hello, "eider.yaml": `${MAIN}nonsense: 1\n`, "hello.sql": "SELECT {{params.x}}" },
      [],
      /^eider\.yaml:3:1: nonsense: [^\n]*\nhello\.sql:1:8: params\.x [^\n]*\n$/,
    ],
    [
      "SQL that names a missing table",
      { ...hello, "hello.sql": "SELECT *\nFROM nowhere" },
      [],
      /^hello\.sql:2:6: [^\n]*nowhere does not exist![^\n]*\n$/,
    ],
    [
      "a bad setting of DuckDB",
      { ...hello, "eider.yaml": `${MAIN}duckdb:\n  threads: 2\n  no_such_setting: 1\n` },
      [],
      /^eider\.yaml:5:3: duckdb\.no_such_setting: [^\n]*\n$/,
    ],
    [
      "a bad value for a setting of DuckDB",
      { ...hello, "eider.yaml": `${MAIN}duckdb:\n  max_memory: plenty\n` },
      [],
      /^eider\.yaml:4:3: duckdb\.max_memory: [^\n]*\n$/,
    ],
  ])("%s", async (_, files: Files, args, stderr, env: Record<string, string> = {}) => {
    const result = await runHere(files, { args, env });
    expect(result).toEqual({ code: 1, stdout: "", stderr: expect.stringMatching(stderr) });
  });

  test("the process says so too", async () => {
    const { code, stdout, stderr } = await run({ ...hello, "hello.sql": "SELEC 1" });
    expect([code, stdout, stderr]).toEqual([1, "", expect.stringMatching(/^hello\.sql:1:1: [^\n]*\n$/)]);
  });

  test("a bad EIDER_PORT", async () => {
    const { code, stderr } = await runHere(hello, { env: { EIDER_PORT: "http" } });
    expect([code, stderr]).toEqual([1, expect.stringContaining("invalid EIDER_PORT 'http'")]);
  });
});

describe("exit code 3: could not listen, open or reach", () => {
  test("the port is in use", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    try {
      await new Promise((resolve) => taken.once("listening", resolve));
      const { port } = taken.address() as { port: number };
      const { code, stdout, stderr } = await run(hello, { args: ["--port", String(port)] });
      expect([code, stdout]).toEqual([3, ""]);
      const place = `127.0.0.1:${port}`;
      expect(stderr).toBe(
        `cannot listen on ${place}: the port is in use; stop the program that uses it or choose another port with --port\n`,
      );
    } finally {
      taken.close();
    }
  });

  test.each([
    ["192.0.2.1", "this machine has no such address"],
    ["no-such-host.invalid", "the host name is unknown"],
  ])("the host is %s", async (host, why) => {
    const { code, stdout, stderr } = await runHere(hello, { args: ["--host", host] });
    // A machine without a name server may say that it could not ask.
    expect([code, stdout, stderr.split("\n").length]).toEqual([3, "", 2]);
    expect(stderr).toMatch(`cannot listen on ${host}:0: `);
    if (!stderr.includes("EAI_AGAIN")) expect(stderr).toContain(why);
  });

  test.each(["serve", "check"])("%s: a file that is no database", async (command) => {
    const files = { ...hello, "eider.yaml": `${MAIN}duckdb: { db_path: not-a-database.txt }\n` };
    const result = await runHere({ ...files, "not-a-database.txt": "text ".repeat(4_000) }, { args: [command] });
    expect([result.code, result.stdout]).toEqual([3, ""]);
    expect(result.stderr).toContain("not-a-database.txt");
    expect(result.stderr).not.toMatch(/^\s+at /m);
  });

  test.each(["serve", "check"])("%s: a connection that must not be lazy is down", async (command) => {
    const main = `${MAIN.replace("{ memory: {} }", "\n  memory: {}\n  files: { init: \"ATTACH 'gone.duckdb' AS gone (READ_ONLY)\", lazy: false }")}`;
    const { code, stdout, stderr } = await runHere({ ...hello, "eider.yaml": main }, { args: [command] });
    expect([code, stdout]).toEqual([3, ""]);
    expect(stderr).toMatch(/^connection 'files' cannot be reached: /);
  });
});

describe("check", () => {
  const wrong: Files = {
    ...hello,
    "hello.sql": "SELECT {{params.x}}, {{id}}",
    "eider.yaml": `${MAIN}project-nam: x\n`,
  };

  test("a sound project: a summary on stdout", async () => {
    expect(await runHere(hello, { args: ["check"] })).toEqual({
      code: 0,
      stdout: "1 endpoint, no problems\n",
      stderr: "",
    });
  });

  test("a warning does not fail it", async () => {
    const files = { ...hello, "eider.yaml": `${MAIN}telemetry: { enabled: false }\n` };
    const { code, stdout, stderr } = await runHere(files, { args: ["check"] });
    expect([code, stdout]).toEqual([0, "1 endpoint, no errors, 1 warning\n"]);
    expect(stderr).toMatch(/^eider\.yaml:3:1: warning: telemetry: [^\n]*\n$/);
  });

  test("problems on stderr, a line each, plain in a pipe", async () => {
    const { code, stdout, stderr } = await run(wrong, { args: ["check"] });
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr.split("\n")).toEqual([
      expect.stringMatching(/^eider\.yaml:3:1: project-nam: .*did you mean 'project-name'\?/),
      expect.stringMatching(/^hello\.sql:1:8: params\.x is not declared/),
      expect.stringMatching(/^hello\.sql:1:22: unknown variable 'id'/),
      "",
    ]);
    expect(stderr).not.toContain("\u001b");
  });

  test("--json is one document", async () => {
    const { code, stdout, stderr } = await runHere(wrong, { args: ["check", "--json"] });
    expect([code, stderr]).toEqual([1, ""]);
    const { problems } = JSON.parse(stdout);
    expect(problems).toEqual([
      {
        severity: "error",
        file: "eider.yaml",
        line: 3,
        column: 1,
        path: "project-nam",
        message: expect.stringContaining("did you mean 'project-name'?"),
      },
      expect.objectContaining({ severity: "error", file: "hello.sql", line: 1, column: 8 }),
      expect.objectContaining({ severity: "error", file: "hello.sql", line: 1, column: 22 }),
    ]);
    const sound = await runHere(hello, { args: ["check", "--json"] });
    expect([sound.code, JSON.parse(sound.stdout)]).toEqual([0, { problems: [], endpoints: 1 }]);
  });

  test("--json names a connection that cannot be reached", async () => {
    const main =
      "connections:\n  memory: { init: \"ATTACH 'gone.duckdb' AS gone (READ_ONLY)\", lazy: false }\nhttp-port: 0\n";
    const { code, stdout } = await runHere({ ...hello, "eider.yaml": main }, { args: ["check", "--json"] });
    expect([code, JSON.parse(stdout).unreachable]).toEqual([3, expect.stringContaining("connection 'memory'")]);
  });

  test("--offline leaves the connections alone", async () => {
    const files = {
      ...hello,
      "eider.yaml": "connections:\n  memory: { init: \"COPY (SELECT 1) TO 'ran.csv'\", lazy: false }\n",
      "hello.sql": "SELECT * FROM nowhere",
    };
    expect(await runHere(files, { args: ["check", "--offline"] })).toEqual({
      code: 0,
      stdout: "1 endpoint, no problems\n",
      stderr: "",
    });
    const syntax = await runHere({ ...files, "hello.sql": "SELEC 1" }, { args: ["check", "--offline"] });
    expect([syntax.code, syntax.stderr]).toEqual([1, expect.stringMatching(/^hello\.sql:1:1: /)]);
    await using online = await start(files, { args: ["check"] });
    expect((await online.exited).code).toBe(1);
    // Online the init did run, so the first half of this test says something.
    expect(await readFile(join(online.folder, "ran.csv"), "utf8")).toContain("1");
  });

  test("runs no template, opens no port, and changes nothing", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    try {
      await new Promise((resolve) => taken.once("listening", resolve));
      const { port } = taken.address() as { port: number };
      const files: Files = {
        "eider.yaml": `http-port: ${port}\nduckdb: { db_path: data.duckdb }\nconnections:\n  memory: { init: "CREATE SEQUENCE IF NOT EXISTS s" }\n`,
        "next.yaml":
          "url-path: /next\ntemplate-source: next.sql\nconnection: memory\nwith-pagination: false\nrequest:\n  - { field-name: way, field-in: query, validators: [{ type: enum, allowedValues: [ASC, DESC] }], default: ASC }\n",
        "next.sql": "SELECT nextval('s') AS n ORDER BY 1 {{params.way}}",
        "copy.yaml":
          "url-path: /copy\nmethod: POST\ntemplate-source: copy.sql\nconnection: memory\nwith-pagination: false\n",
        "copy.sql": "CREATE TABLE written AS SELECT 1 AS n",
      };
      await using folder = await folderWith(files);
      const { code, stderr } = await runHere({}, { args: ["check"], cwd: folder.path });
      expect(code, stderr).toBe(0);
      await using served = await start({}, { args: ["--port", "0"], cwd: folder.path });
      const url = await served.url();
      expect(await (await fetch(`${url}/next`)).json()).toEqual([{ n: 1 }]);
    } finally {
      taken.close();
    }
  });

  test("flags of flAPI", async () => {
    const validated = await runHere(wrong, { args: ["--validate-config"] });
    expect([validated.code, validated.stderr]).toEqual([1, expect.stringContaining("project-nam")]);
    const sound = await runHere(hello, { args: ["-c", "eider.yaml", "--validate-config", "--no-telemetry"] });
    expect([sound.code, sound.stdout]).toEqual([0, "1 endpoint, no problems\n"]);
  });
});

describe("which file, which address", () => {
  test("eider.yaml, else flapi.yaml, else the one that is named", async () => {
    const both = { ...hello, "flapi.yaml": `${MAIN}nonsense: 1\n`, "other.yaml": `${MAIN}otherwise: 1\n` };
    expect((await runHere(both, { args: ["check"] })).code).toBe(0);
    const without = { ...both, "eider.yaml": undefined };
    expect((await runHere(without, { args: ["check"] })).stderr).toContain("flapi.yaml:3:1: nonsense");
    expect((await runHere(both, { args: ["check", "--config=other.yaml"] })).stderr).toContain(
      "other.yaml:3:1: otherwise",
    );
  });

  test("flag, else environment, else file, else default", async () => {
    const [one, two, three] = await freePorts(3);
    const files = {
      ...hello,
      "eider.yaml": `connections: { memory: {} }\nhttp-port: ${three}\nhttp-host: 127.0.0.3\n`,
    };
    const env = { EIDER_PORT: String(two), EIDER_HOST: "127.0.0.2" };
    const addresses = await Promise.all(
      [
        { args: ["--port", String(one), "--host", "127.0.0.4"], env },
        { env },
        { env: { EIDER_PORT: "", EIDER_HOST: "" } },
      ].map(async (options) => {
        await using program = await startHere(files, options);
        return await program.url();
      }),
    );
    expect(addresses).toEqual([`http://127.0.0.4:${one}`, `http://127.0.0.2:${two}`, `http://127.0.0.3:${three}`]);
  });

  test("without any: 127.0.0.1:8080", async () => {
    const files = { ...hello, "eider.yaml": "connections: { memory: {} }\n" };
    await using program = await startHere(files);
    // Whether the port is free here or not, it is named.
    await Promise.race([program.exited, program.url().catch(() => {})]);
    expect(program.stdout() + program.stderr()).toContain("127.0.0.1:8080");
  });
});

const broken: Files = {
  "broken.yaml": "url-path: /broken\ntemplate-source: broken.sql\nconnection: memory\nwith-pagination: false\n",
  "broken.sql": "SELECT error('broken')",
};

test("serve without a word: one plain line when it is ready, it serves, and logs what goes wrong as JSON", async () => {
  await using program = await start({ ...hello, ...broken }, { args: ["--no-telemetry"] });
  const url = await program.url();
  expect(await (await fetch(`${url}/hello`)).json()).toEqual([{ say: "hello" }]);
  expect([program.stdout(), program.stderr()]).toEqual([`REST listening on ${url}\n`, ""]);
  expect((await fetch(`${url}/broken`)).status).toBe(500);
  program.signal("SIGTERM");
  expect(await program.exited).toEqual({ code: 0, signal: null });
  expect(program.stderr()).toMatch(/^\{"time":"[^"]+","level":"warn","message":"query failed: [^\n]*broken[^\n]*\}\n$/);
});

test("--log-format pretty: what goes wrong is logged in words, plainly in a pipe", async () => {
  await using program = await startHere({ ...hello, ...broken }, { args: ["--log-format", "pretty"] });
  expect((await fetch(`${await program.url()}/broken`)).status).toBe(500);
  program.signal("SIGTERM");
  expect(await program.exited).toEqual({ code: 0, signal: null });
  expect(program.stderr()).toMatch(/^\d\d:\d\d:\d\d warn {2}query failed: [^\n]*broken[^\n]*\n$/);
  expect(program.stderr()).not.toContain("\u001b");
});

async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, "127.0.0.1"));
  await Promise.all(servers.map((server) => new Promise((resolve) => server.once("listening", resolve))));
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
