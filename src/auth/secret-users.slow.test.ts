import { createServer as createHttpServer } from "node:http";
import { createServer, type Server } from "node:net";
import { afterAll, beforeEach, describe, expect, test, vi } from "vitest";
import { MOTO_REGION, type Moto, startMoto, testWithMoto } from "../../test/moto.ts";
import { failureOf, type TestEngine, testEngine } from "../../test/suites/duckdb-engine.ts";
import { until } from "../../test/until.ts";
import type { ServiceEvent } from "../events.ts";
import type { SecretUsers } from "./policy.ts";
import { initConnection, openSecretUsers, type SecretUserSource, type SecretUsersOptions } from "./secret-users.ts";

// The machine that runs the tests may know AWS: nothing of that counts here.
const NOWHERE = {
  AWS_CONFIG_FILE: "/nowhere",
  AWS_SHARED_CREDENTIALS_FILE: "/nowhere",
  AWS_EC2_METADATA_DISABLED: "true",
};
const UNSET = ["AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"];
beforeEach(() => {
  for (const [name, value] of Object.entries(NOWHERE)) vi.stubEnv(name, value);
  for (const name of UNSET) vi.stubEnv(name, undefined);
  return () => vi.unstubAllEnvs();
});

const PERIOD_MS = 60_000;

function block(secretName: string, more: Partial<SecretUsers> = {}): SecretUsers {
  return {
    secretName,
    table: "users",
    region: MOTO_REGION,
    accessKeyId: "AKIAHUNTER2",
    secretAccessKey: "hunter2hunter2",
    init: undefined,
    refreshMs: PERIOD_MS,
    ...more,
  };
}

interface Opened extends AsyncDisposable {
  readonly users: SecretUserSource;
  readonly t: TestEngine;
  readonly events: readonly ServiceEvent[];
  /** Lets a period go by, and waits for what it brings. */
  tick(): Promise<void>;
  count(): Promise<unknown>;
}

async function open(
  config: SecretUsers,
  { setup = "", ...options }: Partial<SecretUsersOptions> & { readonly setup?: string },
): Promise<Opened> {
  const connection = initConnection(config);
  const t = await testEngine(setup, { connections: connection === undefined ? [] : [connection] });
  const events: ServiceEvent[] = [];
  let work: (() => Promise<void>) | undefined;
  const every: SecretUsersOptions["every"] = (ms, each) => {
    expect(ms).toBe(PERIOD_MS);
    work = each;
    return () => {
      work = undefined;
    };
  };
  const users = await openSecretUsers(config, {
    engine: t.engine,
    env: {},
    report: (event) => events.push(event),
    every,
    timeoutMs: 2_000,
    ...options,
  }).catch(async (error: unknown) => {
    await t[Symbol.asyncDispose]();
    throw error;
  });
  return {
    users,
    t,
    events,
    async tick() {
      await work?.();
    },
    count: async () => (await t.read({ statements: `SELECT count(*) FROM ${config.table}` })).rows[0]?.[0],
    async [Symbol.asyncDispose]() {
      users.close();
      expect(work).toBeUndefined();
      await t[Symbol.asyncDispose]();
    },
  };
}

/** Why the users are unavailable, without keys and passwords. */
async function refusal(config: SecretUsers, options: Partial<SecretUsersOptions> & { readonly setup?: string }) {
  try {
    await using _ = await open(config, options);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    for (const text of [String(error), JSON.stringify(error), String(error.stack), String(error.cause)]) {
      expect(text.toLowerCase()).not.toContain("hunter2");
    }
    return error.message;
  }
  throw new Error("nothing was refused");
}

/** A server on a free port. */
async function listening<S extends Server>(server: S): Promise<{ readonly url: string; stop(): Promise<void> }> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

describe("with AWS on this machine", () => {
  let moto: Moto | undefined;
  let env: Moto["env"] = {};
  let created = 0;
  /** A secret of its own for each test. */
  const secret = async (content: string | Uint8Array): Promise<string> => {
    moto ??= await startMoto();
    env = { AWS_ENDPOINT_URL_SECRETS_MANAGER: moto.url };
    created += 1;
    return await moto.create(`eider/users-${created}`, content);
  };
  const put = async (name: string, content: string): Promise<void> => moto?.put(name, content);
  afterAll(() => moto?.stop());

  testWithMoto("a list of users with roles", async () => {
    const name = await secret(
      JSON.stringify({
        auth: [
          { username: "ann", password: "p", roles: ["admin", "ops"] },
          { username: "bob", password: "q" },
        ],
      }),
    );
    await using opened = await open(block(name), { env });
    const { users } = opened;
    expect(await users.find("ann")).toEqual({ password: "p", roles: ["admin", "ops"] });
    expect(await users.find("bob")).toEqual({ password: "q", roles: [] });
    expect(await users.find("eve")).toBeUndefined();
    expect(await opened.count()).toBe(2);
    expect(users.warnings).toEqual([
      `secret '${name}': 2 of 2 passwords: a plain password is for local demos only; make a hash with \`eider hash-password\``,
    ]);
  });

  testWithMoto("passwords by name, also as bytes", async () => {
    for (const content of ['{"ann": "p"}', Buffer.from('{"ann": "p"}')]) {
      await using opened = await open(block(await secret(content)), { env });
      expect(await opened.users.find("ann")).toEqual({ password: "p", roles: [] });
    }
  });

  testWithMoto("a hash says what it costs", async () => {
    const hash = `$pbkdf2-sha256$1000$${"A".repeat(22)}$${"A".repeat(43)}`;
    const name = await secret(JSON.stringify({ ann: hash }));
    await using opened = await open(block(name), { env });
    expect([opened.users.maxCost(), opened.users.warnings]).toEqual([1000, []]);
    await put(name, JSON.stringify({ ann: hash.replace("1000", "2000") }));
    await opened.tick();
    expect(opened.users.maxCost()).toBe(2000);
  });

  testWithMoto("a rotation is picked up by the next refresh, and only then something is written", async () => {
    const name = await secret('{"ann": "old", "bob": "q"}');
    await using opened = await open(block(name), { env });
    const { users, t, tick, count } = opened;
    await t.sql("INSERT INTO users VALUES ('own', 'x', ['admin'])");
    await tick();
    // Nothing was written: the row of the operator is still there.
    expect([await count(), await users.find("own")]).toEqual([3, { password: "x", roles: ["admin"] }]);

    await put(name, '{"auth": [{"username": "ann", "password": "new", "roles": "admin"}]}');
    expect(await users.find("ann")).toEqual({ password: "old", roles: [] });
    await tick();
    expect([await count(), await users.find("ann")]).toEqual([1, { password: "new", roles: ["admin"] }]);
    expect(opened.events).toEqual([]);
  });

  testWithMoto("a table that was dropped is made again by the next refresh", async () => {
    const name = await secret('{"ann": "p"}');
    await using opened = await open(block(name, { table: "auth.users" }), { env });
    await opened.t.sql("DROP TABLE auth.users");
    for (const _ of [1, 2]) {
      expect((await failureOf(Promise.resolve(opened.users.find("ann")))).failure).toEqual({ kind: "provider-down" });
    }
    await opened.tick();
    expect(await opened.users.find("ann")).toEqual({ password: "p", roles: [] });
    expect(opened.events).toEqual([
      {
        kind: "dependency-down",
        dependency: `secret '${name}'`,
        message: expect.stringMatching(
          /^secret-table auth\.users: Catalog Error: .* All logins fail until the next refresh$/,
        ),
      },
      { kind: "dependency-up", dependency: `secret '${name}'` },
    ]);
  });

  testWithMoto("a secret that becomes unusable keeps the users, and is reported once", async () => {
    const name = await secret('{"ann": "p"}');
    await using opened = await open(block(name), { env });
    await put(name, '{"ann": "hunter2", "bob": 7}');
    for (const _ of [1, 2, 3]) await opened.tick();
    expect(await opened.users.find("ann")).toEqual({ password: "p", roles: [] });
    expect(opened.events).toEqual([
      {
        kind: "dependency-down",
        dependency: `secret '${name}'`,
        message: expect.stringMatching(
          /^a password is not a non-empty string; expected JSON, .*\. The users that were read last stay$/,
        ),
      },
    ]);
    await put(name, '{"ann": "new"}');
    for (const _ of [1, 2]) await opened.tick();
    expect(await opened.users.find("ann")).toEqual({ password: "new", roles: [] });
    expect(opened.events.slice(1)).toEqual([{ kind: "dependency-up", dependency: `secret '${name}'` }]);
    await put(name, "{");
    await opened.tick();
    expect(opened.events.map(({ kind }) => kind)).toEqual(["dependency-down", "dependency-up", "dependency-down"]);
  });

  testWithMoto("while AWS is down the users stay", async () => {
    const name = await secret('{"ann": "p"}');
    await using opened = await open(block(name), { env });
    await moto?.stop();
    for (const _ of [1, 2]) await opened.tick();
    expect(await opened.users.find("ann")).toEqual({ password: "p", roles: [] });
    const dependency = `secret '${name}'`;
    const message = `AWS Secrets Manager in region '${MOTO_REGION}' is not reachable (ECONNREFUSED). The users that were read last stay`;
    expect(opened.events).toEqual([{ kind: "dependency-down", dependency, message }]);

    moto = await startMoto(moto?.port);
    await moto.create(name, '{"ann": "new"}');
    for (const _ of [1, 2]) await opened.tick();
    expect(await opened.users.find("ann")).toEqual({ password: "new", roles: [] });
    expect(opened.events.slice(1)).toEqual([{ kind: "dependency-up", dependency }]);
  });

  testWithMoto("refreshes never overlap: concurrent ones wait for the one that runs", async () => {
    const name = await secret('{"ann": "p"}');
    await using opened = await open(block(name), { env });
    await put(name, '{"ann": "new"}');
    await Promise.all([opened.tick(), opened.tick(), opened.tick()]);
    expect(await opened.users.find("ann")).toEqual({ password: "new", roles: [] });
  });

  testWithMoto("a refresh that is under way at the end is nobody's concern", async () => {
    const name = await secret('{"ann": "p"}');
    await using opened = await open(block(name), { env });
    await put(name, "{");
    const tick = opened.tick();
    opened.users.close();
    await tick;
    expect(opened.events).toEqual([]);
  });

  testWithMoto("init runs before the table is filled, all of its statements, once", async () => {
    const name = await secret('{"ann": "p"}');
    const init =
      "ATTACH ':memory:' AS store; CREATE SCHEMA store.auth; -- what follows needs both\nSET VARIABLE x = 1;";
    const config = block(name, { init, table: "store.auth.users" });
    await using opened = await open(config, { env });
    expect(await opened.users.find("ann")).toEqual({ password: "p", roles: [] });
    const again = await openSecretUsers(config, { engine: opened.t.engine, env, report: () => {} });
    expect(await again.find("ann")).toEqual({ password: "p", roles: [] });
    again.close();
  });

  testWithMoto("an init or a table that does not work stops the start, with the secret's name", async () => {
    const name = await secret('{"ann": "p"}');
    const failing = "CREATE TABLE one (x INT); SELECT error('no: ' || 'AKIAHUNTER2' || ' hunter2hunter2')";
    expect(await refusal(block(name, { init: failing }), { env })).toMatch(
      new RegExp(`^secret '${name}': init failed: .*no: \\*\\*\\* \\*\\*\\*`),
    );
    expect(await refusal(block(name, { table: "users; DROP TABLE x" }), { env })).toBe(
      `secret '${name}': secret-table is not the name of a table; write users, auth.users or "my users"`,
    );
    expect(await refusal(block(name), { env, setup: "CREATE TABLE users (id INT)" })).toMatch(
      `secret '${name}': secret-table users: it already exists with columns other than`,
    );
  });

  testWithMoto("what cannot be read or used stops the start, in plain words", async () => {
    const name = await secret("hunter2");
    expect(await refusal(block(name), { env })).toMatch(`secret '${name}': it is not JSON; expected JSON, {"auth": `);
    expect(await refusal(block("no-such"), { env })).toBe(
      `secret 'no-such': there is no such secret in region '${MOTO_REGION}'`,
    );
    expect(await refusal(block(name, { region: "us-west-2" }), { env })).toBe(
      `secret '${name}': there is no such secret in region 'us-west-2'`,
    );
    const noRegion = `secret '${name}': no region, or none that is valid; write region in the block, or set AWS_REGION`;
    for (const region of [undefined, "not a region"]) {
      expect(await refusal(block(name, { region }), { env })).toBe(noRegion);
    }
    const noKeys = { accessKeyId: undefined, secretAccessKey: undefined };
    expect(await refusal(block(name, noKeys), { env })).toBe(
      `secret '${name}': no credentials; write secret-id and secret-key in the block, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY`,
    );
  });

  testWithMoto("keys that AWS does not know are refused", async () => {
    const name = await secret('{"ann": "hunter2"}');
    const checkKeysAfter = (requests: string) =>
      fetch(`${moto?.url}/moto-api/reset-auth`, { method: "POST", body: requests });
    await checkKeysAfter("0");
    try {
      expect(await refusal(block(name), { env })).toBe(`secret '${name}': access denied (403)`);
    } finally {
      await checkKeysAfter("inf");
    }
  });

  testWithMoto("region, keys and endpoint come from the environment, as AWS's own tools read it", async () => {
    const name = await secret('{"ann": "p"}');
    const bare = block(name, { region: undefined, accessKeyId: undefined, secretAccessKey: undefined });
    const keys = { AWS_ACCESS_KEY_ID: "id", AWS_SECRET_ACCESS_KEY: "key", AWS_SESSION_TOKEN: "token" };
    const url = moto?.url ?? "";
    for (const given of [
      { ...keys, AWS_REGION: MOTO_REGION, AWS_ENDPOINT_URL_SECRETS_MANAGER: url },
      { ...keys, AWS_DEFAULT_REGION: MOTO_REGION, AWS_ENDPOINT_URL: url },
    ]) {
      await using opened = await open(bare, { env: given });
      expect(await opened.users.find("ann")).toEqual({ password: "p", roles: [] });
    }
    // The client's own chain, where the service was told nothing.
    for (const [variable, value] of Object.entries({ ...keys, AWS_REGION: MOTO_REGION, AWS_ENDPOINT_URL: url })) {
      vi.stubEnv(variable, value);
    }
    await using opened = await open(bare, { env: {} });
    expect(await opened.users.find("ann")).toEqual({ password: "p", roles: [] });
  });

  testWithMoto("names and roles with quotes, SQL and separators are only text", async () => {
    const odd = ["o'brien", 'a"b', "x'; DROP TABLE users; --", "' OR '1'='1", "$1", "a,b", "\u001f", "日本語 👩‍🚀"];
    const auth = odd.map((text) => ({ username: text, password: text, roles: [text, "admin"] }));
    await using opened = await open(block(await secret(JSON.stringify({ auth }))), { env });
    for (const text of odd) {
      expect(await opened.users.find(text)).toEqual({ password: text, roles: [text, "admin"] });
    }
    for (const nobody of ["' OR true --", "x", "%", ""]) expect(await opened.users.find(nobody)).toBeUndefined();
    expect(await opened.count()).toBe(odd.length);
  });

  testWithMoto("hundreds of users", async () => {
    const of = (password: string): string =>
      JSON.stringify(Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`user${index}`, password + index])));
    const name = await secret(of("p"));
    await using opened = await open(block(name), { env });
    expect(await opened.count()).toBe(300);
    await put(name, of("q"));
    await opened.tick();
    expect(await opened.count()).toBe(300);
    const found = await Promise.all([0, 150, 299].map((index) => opened.users.find(`user${index}`)));
    expect(found).toEqual(["q0", "q150", "q299"].map((password) => ({ password, roles: [] })));
  });

  testWithMoto("by itself it refreshes in each period, until it is closed", async () => {
    const name = await secret('{"ann": "p"}');
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    try {
      await using t = await testEngine();
      const users = await openSecretUsers(block(name), { engine: t.engine, env, report: () => {} });
      await put(name, '{"ann": "q"}');
      await vi.advanceTimersByTimeAsync(PERIOD_MS - 1);
      expect(await users.find("ann")).toEqual({ password: "p", roles: [] });
      await vi.advanceTimersByTimeAsync(1);
      await until("the refresh", async () => (await users.find("ann"))?.password === "q");
      users.close();
      expect(vi.getTimerCount()).toBe(0);
      // A timer takes more than 2^31 - 1 ms for none at all.
      const rare = await openSecretUsers(block(name, { refreshMs: 2 ** 40 }), {
        engine: t.engine,
        env,
        report: () => {},
      });
      await put(name, '{"ann": "r"}');
      await vi.advanceTimersByTimeAsync(PERIOD_MS);
      expect(await rare.find("ann")).toEqual({ password: "q", roles: [] });
      rare.close();
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("without AWS", () => {
  const unreachable = `secret 'x': AWS Secrets Manager in region '${MOTO_REGION}' is not reachable`;

  test("nobody listens", async () => {
    const { url, stop } = await listening(createServer());
    await stop();
    expect(await refusal(block("x"), { env: { AWS_ENDPOINT_URL: url } })).toBe(`${unreachable} (ECONNREFUSED)`);
  });

  test("somebody listens and never answers", async () => {
    const sockets = new Set<{ destroy(): void }>();
    const { url, stop } = await listening(createServer((socket) => sockets.add(socket)));
    const timeoutMs = 3_600_000;
    // No wait ends before the test moves the clock, however long an attempt takes. `waitUntil` moves it by milliseconds.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const attempts = (count: number) => vi.waitUntil(() => sockets.size === count, { timeout: 120_000, interval: 10 });
    try {
      const refused = refusal(block("x"), { env: { AWS_ENDPOINT_URL: url }, timeoutMs });
      await attempts(1);
      await vi.advanceTimersByTimeAsync(timeoutMs);
      await attempts(2);
      await vi.advanceTimersByTimeAsync(timeoutMs);
      expect(await refused).toBe(`${unreachable}: no answer in time`);
      expect(sockets.size).toBe(2);
    } finally {
      vi.useRealTimers();
      for (const socket of sockets) socket.destroy();
      await stop();
    }
  });

  // The stand-in for AWS knows no permissions: these are answers as AWS documents them.
  test.each([
    ["AccessDeniedException", "access denied: secretsmanager:GetSecretValue is not allowed on it"],
    ["DecryptionFailure", "access denied: its KMS key may not be used to decrypt it"],
    ["UnrecognizedClientException", "access denied: AWS does not accept the access key"],
    ["InvalidSignatureException", "access denied: AWS does not accept the access key"],
    ["ExpiredTokenException", "access denied: the credentials have expired"],
    ["InvalidRequestException", "AWS does not return it; it may be marked for deletion"],
    ["SomethingNewException", "it cannot be read (400, SomethingNewException)"],
  ])("%s", async (type, reason) => {
    const answer = JSON.stringify({ __type: type, message: "The key AKIAHUNTER2 and the secret hunter2hunter2" });
    const { url, stop } = await listening(
      createHttpServer((_, response) =>
        response.writeHead(400, { "Content-Type": "application/x-amz-json-1.1" }).end(answer),
      ),
    );
    expect(await refusal(block("x"), { env: { AWS_ENDPOINT_URL: url } })).toBe(`secret 'x': ${reason}`);
    await stop();
  });
});
