import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { extensionDirectory, missingExtensions } from "../extensions.ts";
import { missingMariaDb, sharedMariaDb } from "../mariadb.ts";
import { testNeeding } from "../needing.ts";
import { missingPostgres, sharedPostgres } from "../postgres.ts";
import { type Files, type Program, start } from "../process/program.ts";
import { type SilentProxy, silentProxy } from "../silent-proxy.ts";
import { until } from "../until.ts";

/** A database server with a table `t`, whose rows are 1 to 3. */
interface Source {
  readonly port: number;
  /** The connection string of its database at another port. */
  dsn(port: number): string;
  freeze(): Promise<void> | void;
  thaw(): Promise<void> | void;
  kill(): Promise<void>;
  restart(): Promise<void>;
  /** Ends all sessions of the database. */
  endSessions(): Promise<unknown>;
}

const sharedServers = { postgres: sharedPostgres(), mysql: sharedMariaDb() };

const sources: Record<keyof typeof sharedServers, () => Promise<Source>> = {
  async postgres() {
    const server = await sharedServers.postgres();
    const database = await server.createDatabase();
    await server.sql(database, "CREATE TABLE t AS SELECT generate_series(1, 3) AS id");
    return {
      ...server,
      dsn: (port) => database.replace(/port=\d+/, `port=${port}`),
      endSessions: () =>
        server.sql(
          database,
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
        ),
    };
  },
  async mysql() {
    const server = await sharedServers.mysql();
    const database = await server.createDatabase();
    await server.sql(database, "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1), (2), (3)");
    const sessions = `SELECT group_concat(concat('KILL ', id) SEPARATOR ';') FROM information_schema.processlist WHERE db = '${database}'`;
    return {
      ...server,
      dsn: (port) => `host=127.0.0.1 port=${port} user=root database=${database}`,
      endSessions: async () => server.sql("", await server.sql("", sessions)),
    };
  },
};

const servers = [
  ["postgres", "postgres_scanner", missingPostgres],
  ["mysql", "mysql_scanner", missingMariaDb],
] as const;

function read(name: string, sql: string, connection: string): Files {
  return {
    [`${name}.yaml`]: `url-path: /${name}\ntemplate-source: ${name}.sql\nconnection: [${connection}]\nwith-pagination: false\n`,
    [`${name}.sql`]: sql,
  };
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly retryAfter: string | null;
}

async function ask(url: string, path: string, init: RequestInit = {}): Promise<Answer> {
  const answer = await fetch(url + path, init);
  const body: unknown = await answer.json();
  return { status: answer.status, body, retryAfter: answer.headers.get("retry-after") };
}

const ROWS = [{ id: 1 }, { id: 2 }, { id: 3 }];
const DOWN: Answer = {
  status: 503,
  body: { error: "Service Unavailable: connection 'db' cannot be reached" },
  retryAfter: "1",
};
const OK = { status: "ok" };
const rowsAgain = (url: string) => until("rows", async () => (await ask(url, "/t")).status === 200);

describe.each(servers)("%s", (type, extension, missing) => {
  const needsServer = testNeeding(missing, missingExtensions(extension));

  /** No call can time out: its query may take longer than the test. */
  function project(dsn: string): Files {
    return {
      "eider.yaml": `http-port: 0
limits: { query-timeout: 1h }
duckdb: { extension_directory: '${extensionDirectory(extension)}' }
connections:
  db: { type: ${type}, dsn: ${JSON.stringify(dsn)} }
  memory: {}
`,
      ...read("t", "SELECT id FROM db.t ORDER BY id", "db"),
      ...read("local", "SELECT 1 AS a", "memory"),
      "add.yaml": "url-path: /add\nmethod: POST\ntemplate-source: add.sql\nconnection: [db]\n",
      "add.sql": "INSERT INTO db.t VALUES (99)",
    };
  }

  /** Every call fails soon, those that have started and those that come later; the others go on. */
  async function expectHanging(url: string, program: Program): Promise<void> {
    const waiting = await Promise.all([ask(url, "/t"), ask(url, "/t?again")]);
    expect(waiting).toEqual([DOWN, DOWN]);
    expect(await ask(url, "/t")).toEqual(DOWN);
    expect(await ask(url, "/add", { method: "POST" })).toEqual(DOWN);
    expect((await ask(url, "/health/ready")).body).toEqual({
      status: "degraded",
      connections: ["db"],
      reasons: { db: expect.stringMatching(/^does not respond, for \d+ s$/) },
    });
    expect((await ask(url, "/local")).body).toEqual([{ a: 1 }]);
    expect(program.stderr()).toContain("connection 'db' cannot be reached: it does not respond");
  }

  async function expectBack(url: string, program: Program): Promise<void> {
    await rowsAgain(url);
    expect((await ask(url, "/t")).body).toEqual(ROWS);
    expect((await ask(url, "/health/ready")).body).toEqual(OK);
    expect(program.stderr()).toContain("connection 'db' is back");
    expect(program.stderr()).not.toContain('"level":"error"');
    expect(program.stderr()).not.toContain("geheim");
  }

  needsServer("one that freezes: 503 soon and then at once, and it is back when it responds", async () => {
    const source = await sources[type]();
    await using program = await start(project(source.dsn(source.port)));
    const url = await program.url();
    expect((await ask(url, "/t")).body).toEqual(ROWS);
    await source.freeze();
    try {
      await expectHanging(url, program);
    } finally {
      await source.thaw();
    }
    await expectBack(url, program);
  });

  needsServer("readiness alone notices one that freezes, and that it responds again", async () => {
    const source = await sources[type]();
    // A probe keeps a thread until the server responds. If each request started one, no thread would be left.
    await using program = await start(project(source.dsn(source.port)), { env: { UV_THREADPOOL_SIZE: "4" } });
    const url = await program.url();
    const status = async () => ((await ask(url, "/health/ready")).body as typeof OK).status;
    expect((await ask(url, "/t")).body).toEqual(ROWS);
    await source.freeze();
    try {
      await until("degraded", async () => (await status()) === "degraded");
      expect(await ask(url, "/t")).toEqual(DOWN);
      for (let times = 0; times < 20; times++) expect(await status()).toBe("degraded");
      expect((await ask(url, "/local")).body).toEqual([{ a: 1 }]);
    } finally {
      await source.thaw();
    }
    await until("ok", async () => (await status()) === "ok");
    expect((await ask(url, "/t")).body).toEqual(ROWS);
  });

  async function throughProxy(work: (parts: { proxy: SilentProxy; url: string; program: Program }) => Promise<void>) {
    const source = await sources[type]();
    await using proxy = await silentProxy(source.port);
    await using program = await start(project(source.dsn(proxy.port)));
    const url = await program.url();
    expect((await ask(url, "/t")).body).toEqual(ROWS);
    await work({ proxy, url, program });
  }

  needsServer("a network that falls silent and speaks again", () =>
    throughProxy(async ({ proxy, url, program }) => {
      proxy.silence();
      await expectHanging(url, program);
      proxy.speak();
      await expectBack(url, program);
    }),
  );

  needsServer("a network that falls silent and forgets its connections", () =>
    throughProxy(async ({ proxy, url, program }) => {
      proxy.silence();
      await expectHanging(url, program);
      proxy.speak();
      proxy.reset();
      await expectBack(url, program);
    }),
  );

  needsServer("sessions that the server ends", async () => {
    const source = await sources[type]();
    await using program = await start(project(source.dsn(source.port)));
    const url = await program.url();
    expect((await ask(url, "/t")).body).toEqual(ROWS);
    await source.endSessions();
    const answers = [await ask(url, "/t"), await ask(url, "/t")];
    for (const answer of answers) if (answer.status !== 200) expect(answer).toEqual(DOWN);
    await rowsAgain(url);
    expect((await ask(url, "/health/ready")).body).toEqual(OK);
  });

  needsServer("one that is killed and starts again", async () => {
    const source = await sources[type]();
    await using program = await start(project(source.dsn(source.port)));
    const url = await program.url();
    expect((await ask(url, "/t")).body).toEqual(ROWS);
    await source.kill();
    for (let times = 0; times < 3; times++) expect(await ask(url, "/t")).toEqual(DOWN);
    expect((await ask(url, "/health/ready")).body).toEqual({ status: "degraded", connections: ["db"] });
    await source.restart();
    // Readiness alone notices it.
    await until("ok", async () => ((await ask(url, "/health/ready")).body as typeof OK).status === "ok");
    await expectBack(url, program);
  });
});

const CLIENTS = 64;
const ENDPOINTS = 12;

/** A frozen Postgres, and so many clients that call its endpoints, one of eight a write, until the work is done. */
async function floodFrozen(
  limits: string,
  work: (parts: { url: string; program: Program; lookUp(): Promise<void>; seen: Set<number> }) => Promise<void>,
): Promise<void> {
  const source = await sources.postgres();
  const endpoints = Array.from({ length: ENDPOINTS }, (_, index) =>
    read(`t${index}`, `SELECT id + ${index} AS id FROM db.t ORDER BY id`, "db"),
  );
  await using program = await start({
    "eider.yaml": `http-port: 0
limits: { query-timeout: 1h${limits} }
duckdb: { extension_directory: '${extensionDirectory("postgres_scanner")}' }
connections:
  db: { type: postgres, dsn: ${JSON.stringify(source.dsn(source.port))} }
  memory: { init: CREATE TABLE small AS SELECT range AS id FROM range(1000) }
`,
    ...Object.assign({}, ...endpoints),
    "add.yaml": "url-path: /add\nmethod: POST\ntemplate-source: add.sql\nconnection: [db]\n",
    "add.sql": "INSERT INTO db.t VALUES (99)",
    "look-up.yaml":
      "url-path: /look-up\ntemplate-source: look-up.sql\nconnection: [memory]\nwith-pagination: false\nrequest: [{ field-name: id, field-in: query, validators: [{ type: int }] }]\n",
    "look-up.sql": "SELECT id FROM small WHERE id = {{params.id}}",
  });
  const url = await program.url();
  let id = 0;
  const lookUp = async (): Promise<void> => {
    const next = id++ % 1000;
    // A starved one would otherwise never be answered, and Postgres would stay frozen.
    const signal = AbortSignal.timeout(60_000);
    expect(await ask(url, `/look-up?id=${next}`, { signal })).toEqual({
      status: 200,
      body: [{ id: next }],
      retryAfter: null,
    });
  };
  await lookUp();
  for (let index = 0; index < ENDPOINTS; index++) expect((await ask(url, `/t${index}`)).status).toBe(200);
  await source.freeze();
  const seen = new Set<number>();
  let added = 0;
  let isDone = false;
  const client = async (index: number): Promise<void> => {
    const writes = index % 8 === 7;
    while (!isDone) {
      const path = writes ? "/add" : `/t${index % ENDPOINTS}`;
      const { status, retryAfter } = await ask(url, path, writes ? { method: "POST" } : {});
      seen.add(status);
      if (writes && status === 200) added++;
      await new Promise((resolve) => setTimeout(resolve, Number(retryAfter) * 1_000));
    }
  };
  const flood = Promise.all(Array.from({ length: CLIENTS }, (_, index) => client(index)));
  flood.catch(() => {});
  try {
    await work({ url, program, lookUp, seen });
  } finally {
    isDone = true;
    await source.thaw();
  }
  await flood;
  await until("rows", async () => (await ask(url, "/t0")).status === 200);
  // A write that was rejected has not run, one that had been sent has.
  const rows = (await ask(url, "/t0")).body as typeof ROWS;
  expect(rows.filter(({ id: found }) => found === 99)).toHaveLength(added);
  expect((await ask(url, "/health/ready")).body).toEqual(OK);
}

const withPostgres = testNeeding(missingPostgres, missingExtensions("postgres_scanner"));

withPostgres("a frozen Postgres with 64 clients: look-ups in other data are all answered", async () => {
  await floodFrozen("", async ({ program, lookUp, seen }) => {
    const isNoticed = (): boolean => program.stderr().includes("connection 'db' cannot be reached");
    const steady = async (isOver: () => boolean): Promise<number> => {
      let count = 0;
      for (; !isOver(); count++) await lookUp();
      return count;
    };
    // Before Eider knows that the server hangs, and then.
    const before = await Promise.all(Array.from({ length: 4 }, () => steady(isNoticed)));
    expect(Math.min(...before)).toBeGreaterThan(10);
    await until("503", () => seen.has(503));
    let rest = 50;
    await Promise.all(Array.from({ length: 4 }, () => steady(() => rest-- <= 0)));
    expect([...seen]).toEqual([503]);
  });
});

withPostgres("a frozen Postgres that holds all query slots gives them back when Eider has noticed it", async () => {
  await floodFrozen(", max-concurrent-queries: 2", async ({ lookUp, seen }) => {
    for (let times = 0; times < 10; times++) await lookUp();
    expect([...seen]).toEqual([503]);
  });
});

/** The connection `db`, in YAML, by its type and by an ATTACH of the user. */
const forms: Readonly<Record<string, (dsn: string) => string>> = {
  "by its type": (dsn) => `type: postgres, dsn: ${JSON.stringify(dsn)}`,
  "by an ATTACH in init": (dsn) =>
    `init: ${JSON.stringify(`LOAD postgres; ATTACH '${dsn.replaceAll("'", "''")}' AS db (TYPE postgres)`)}`,
};

for (const [form, connection] of Object.entries(forms)) {
  withPostgres(
    `a Postgres ${form} that does not respond at the start: calls wait for the first attempt only, and it is used when it responds`,
    async () => {
      const source = await sources.postgres();
      await using proxy = await silentProxy(source.port);
      proxy.silence();
      await using program = await start({
        "eider.yaml": `http-port: 0
limits: { query-timeout: 1h }
duckdb: { extension_directory: '${extensionDirectory("postgres_scanner")}' }
connections:
  db: { ${connection(source.dsn(proxy.port))}, connect-timeout: 1s }
`,
        ...read("t", "SELECT id FROM db.t ORDER BY id", "db"),
      });
      const url = await program.url();
      expect(program.stderr()).toContain("connection 'db' is still running its init statement, for 1 s");
      // libpq gives up after 10 seconds.
      expect(await ask(url, "/t")).toEqual(DOWN);
      const attempts = proxy.accepted();
      for (let times = 0; times < 5; times++) expect(await ask(url, "/t")).toEqual(DOWN);
      await until("the next attempt", () => proxy.accepted() > attempts);
      expect(proxy.accepted()).toBe(attempts + 1);
      expect(program.stderr()).toMatch(/connection 'db' cannot be reached: .*timeout expired/);
      expect(program.stderr()).not.toMatch(/geheim|lang\\/);
      proxy.speak();
      await rowsAgain(url);
      expect((await ask(url, "/health/ready")).body).toEqual(OK);
    },
  );
}

const missingProc = process.platform === "linux" ? undefined : "there is no /proc/net/tcp";

/** The options that the documentation recommends for an ATTACH. */
const [documented = ""] =
  /keepalives_idle=.* tcp_user_timeout=\d+/.exec(
    readFileSync(join(import.meta.dirname, "../../docs/sources/postgres.md"), "utf8"),
  ) ?? [];

describe.each([
  ["by host and port", undefined],
  ["by an ATTACH in init with the documented options", documented],
])("Postgres %s", (_, options) => {
  const needsProc = testNeeding(missingProc, missingPostgres, missingExtensions("postgres_scanner"));

  needsProc("its sockets notice a network that is gone", async () => {
    const { port, user, password, ...server } = await sharedServers.postgres();
    const dsn = await server.createDatabase();
    await server.sql(dsn, "CREATE TABLE t AS SELECT 1 AS id");
    const database = /dbname=(\w+)/.exec(dsn)?.[1];
    const address = JSON.stringify({
      type: "postgres",
      host: "127.0.0.1",
      port: String(port),
      user,
      password,
      database,
    });
    const connection = options === undefined ? address : `{ ${forms["by an ATTACH in init"]?.(`${dsn} ${options}`)} }`;
    await using program = await start({
      "eider.yaml": `http-port: 0
duckdb: { extension_directory: '${extensionDirectory("postgres_scanner")}' }
connections: { db: ${connection} }
`,
      ...read("t", "SELECT id FROM db.t", "db"),
    });
    expect((await ask(await program.url(), "/t")).body).toEqual([{ id: 1 }]);
    // The kernel lists the timer of a socket: 02 is the one for keepalives, which start after 10 seconds and not after two hours.
    const sockets = (await readFile(`/proc/${program.pid}/net/tcp`, "utf8"))
      .split("\n")
      .map((line) => line.trim().split(/\s+/));
    const remote = `0100007F:${port.toString(16).toUpperCase().padStart(4, "0")}`;
    const timers = sockets
      .filter((fields) => fields[2] === remote && fields[3] === "01")
      .map((fields) => fields[5] ?? "");
    expect(timers.length).toBeGreaterThan(0);
    for (const timer of timers) {
      const [kind, ticks = ""] = timer.split(":");
      expect([kind, Number.parseInt(ticks, 16) <= 1_000]).toEqual(["02", true]);
    }
  });
});
