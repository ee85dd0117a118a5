import { describe, expect } from "vitest";
import { testNeeding } from "../needing.ts";
import { missingPostgres, sharedPostgres } from "../postgres.ts";
import { postgresConnection, serveOverPostgres } from "../postgres-engine.ts";
import { basicHeader } from "../readme-users.ts";
import { problemsFrom } from "../service.ts";
import { bodyFields, INT, outcome, route, send } from "./write-project.ts";

const test = testNeeding(missingPostgres);
const server = sharedPostgres();

const SETUP = `
  CREATE TABLE items (id int PRIMARY KEY, name text NOT NULL UNIQUE, n int DEFAULT 0 CHECK (n >= 0));
  CREATE TABLE log (id int, what text);
  INSERT INTO items SELECT i, 'i' || i FROM generate_series(1, 3) i`;
const ITEM = bodyFields({ id: INT, name: "", n: INT });
const DATA = "operation: { type: write, returns-data: true }\n";
const WRITE = "operation: { type: write }\n";

describe("writes", () => {
  test("count rows and return them", async () => {
    const postgres = await server();
    await using service = await serveOverPostgres(postgres, {
      setup: SETUP,
      files: {
        ...route(
          "POST /items",
          "INSERT INTO items VALUES ({{params.id}}, {{params.name}}) RETURNING id, name",
          DATA + ITEM,
        ),
        ...route("PATCH /items", "UPDATE items SET n = {{params.n}} WHERE id <= {{params.id}}", WRITE + ITEM),
        ...route(
          "DELETE /items",
          "INSERT INTO log SELECT id, 'gone' FROM items WHERE id = {{params.id}}; DELETE FROM items WHERE id = {{params.id}}; SELECT count(*) AS left FROM items",
          DATA + ITEM,
        ),
        ...route(
          "PUT /items",
          "WITH gone AS (DELETE FROM items WHERE id > {{params.id}} RETURNING id) SELECT id FROM gone ORDER BY id",
          DATA + ITEM,
        ),
      },
    });
    expect(await outcome(service, "POST /items", { id: 4, name: "O'Hara \\" })).toEqual([
      expect.any(Number),
      expect.objectContaining({ rows_affected: 1, data: [{ id: 4, name: "O'Hara \\" }] }),
    ]);
    expect(await outcome(service, "PATCH /items", { id: 2, n: 7 })).toEqual([
      200,
      expect.objectContaining({ rows_affected: 2 }),
    ]);
    expect(await outcome(service, "DELETE /items", { id: 1 })).toEqual([
      200,
      expect.objectContaining({ rows_affected: 2, data: [{ left: 3 }] }),
    ]);
    expect(await outcome(service, "PUT /items", { id: 2 })).toEqual([
      200,
      expect.objectContaining({ rows_affected: 2, data: [{ id: 3 }, { id: 4 }] }),
    ]);
    expect(await postgres.sql(service.dsn, "SELECT id || name || n FROM items")).toBe("2i27");
  });

  test("are undone as a whole by an error, unless each statement commits by itself", async () => {
    const postgres = await server();
    const sql = "INSERT INTO log VALUES ({{params.id}}, 'first'); INSERT INTO items VALUES ({{params.id}}, 'i1')";
    await using service = await serveOverPostgres(postgres, {
      setup: SETUP,
      files: {
        ...route("POST /whole", sql, WRITE + ITEM),
        ...route("POST /each", sql, `operation: { type: write, transaction: false }\n${ITEM}`),
        ...route("POST /one", "DELETE FROM items RETURNING id", `returns: one\n${DATA}`),
        ...route("POST /vacuum", "VACUUM items", "operation: { type: write, transaction: false }\n"),
        ...route("GET /ids", "SELECT id FROM items"),
      },
    });
    expect((await send(service, "POST /whole", { id: 8 })).status).toBe(500);
    expect(await postgres.sql(service.dsn, "SELECT * FROM log")).toBe("");
    expect((await send(service, "POST /each", { id: 9 })).status).toBe(500);
    expect(await postgres.sql(service.dsn, "SELECT * FROM log")).toBe("9|first");
    expect((await send(service, "POST /one")).status).toBe(500);
    expect(await postgres.sql(service.dsn, "SELECT count(*) FROM items")).toBe("3");
    expect((await send(service, "POST /vacuum")).status).toBe(200);
    // The connection is read-only again.
    expect((await send(service, "GET /ids")).status).toBe(200);
  });

  test("constraints have their own statuses, and no row is shown", async () => {
    await using service = await serveOverPostgres(await server(), {
      setup: SETUP,
      files: route(
        "POST /items",
        "INSERT INTO items VALUES ({{params.id}}, {{params.name}}, {{params.n}})",
        `operation: { type: write, http-status: { constraint-failure: client-error } }\n${ITEM}`,
      ),
    });
    const [unique, check, missing] = [
      await send(service, "POST /items", { id: 7, name: "i1", n: 1 }),
      await send(service, "POST /items", { id: 7, name: "secret name", n: -1 }),
      await send(service, "POST /items", { id: 7, n: 1 }),
    ];
    expect([unique?.status, check?.status, missing?.status]).toEqual([409, 422, 422]);
    expect([unique, check, missing].map((each) => each?.text).join()).not.toMatch(/secret name|Failing row|Key \(/);
  });

  test("concurrent writes that conflict are retried", async () => {
    const postgres = await server();
    await using service = await serveOverPostgres(postgres, {
      setup: SETUP,
      more: "    init: SET default_transaction_isolation = 'serializable'\n",
      files: route("POST /n", "UPDATE items SET n = n + 1 WHERE id = 1", WRITE),
    });
    const all = await Promise.all(Array.from({ length: 12 }, () => send(service, "POST /n")));
    const done = all.filter(({ status }) => status === 200).length;
    expect(all.every(({ status }) => status === 200 || status === 409)).toBe(true);
    expect(await postgres.sql(service.dsn, "SELECT n FROM items WHERE id = 1")).toBe(String(done));
    expect(done).toBeGreaterThan(6);
  });

  test("a conflict that every retry meets is 409", async () => {
    await using service = await serveOverPostgres(await server(), {
      setup: `${SETUP}; CREATE FUNCTION clash() RETURNS int LANGUAGE plpgsql AS 'BEGIN RAISE serialization_failure; END'`,
      files: route("POST /n", "UPDATE items SET n = clash() WHERE id = 1", WRITE),
    });
    expect((await send(service, "POST /n")).status).toBe(409);
  });

  test("a read-only connection takes no write", async () => {
    const postgres = await server();
    const dsn = await postgres.createDatabase();
    await postgres.sql(dsn, SETUP);
    const problems = await problemsFrom({
      "eider.yaml": postgresConnection(postgres, dsn, "    read-only: true\n"),
      ...route("POST /n", "UPDATE items SET n = n + 1", WRITE),
    });
    expect(problems).toEqual([expect.stringContaining("connection 'memory' is read-only")]);
  });

  test("statements that end the transaction, or need none, are problems", async () => {
    const postgres = await server();
    const dsn = await postgres.createDatabase();
    await postgres.sql(dsn, SETUP);
    const problems = await problemsFrom({
      "eider.yaml": postgresConnection(postgres, dsn),
      ...route("POST /a", "DELETE FROM items; COMMIT", WRITE),
      ...route("POST /b", "VACUUM items", WRITE),
    });
    expect(problems.sort()).toEqual([expect.stringContaining("COMMIT"), expect.stringContaining("VACUUM cannot run")]);
  });
});

describe("idempotency keys", () => {
  const FILES = {
    ...route("POST /items", "INSERT INTO items VALUES ({{params.id}}, {{params.name}}) RETURNING id", DATA + ITEM),
    ...route("POST /log", "INSERT INTO log VALUES (1, 'x')", WRITE),
  };

  test("run a write once, however often and wherever it is sent", async () => {
    const postgres = await server();
    await using one = await serveOverPostgres(postgres, { setup: SETUP, files: FILES });
    await using two = await serveOverPostgres(postgres, { files: FILES, dsn: one.dsn });
    const key = { "Idempotency-Key": "k1" };
    const all = await Promise.all(
      Array.from({ length: 10 }, (_, i) => send(i % 2 === 0 ? one : two, "POST /log", undefined, key)),
    );
    expect(new Set(all.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(all[0]?.status).toBe(200);
    expect(await postgres.sql(one.dsn, "SELECT count(*) FROM log")).toBe("1");
    const first = await send(one, "POST /items", { id: 8, name: "x" }, key);
    const again = await send(two, "POST /items", { id: 8, name: "x" }, key);
    expect([again.status, again.text]).toEqual([first.status, first.text]);
    expect((await send(two, "POST /items", { id: 9, name: "y" }, key)).status).toBe(422);
    // A write that failed has no record.
    expect((await send(one, "POST /items", { id: 8, name: "z" }, { "Idempotency-Key": "k2" })).status).toBe(500);
    await postgres.sql(one.dsn, "DELETE FROM items WHERE id = 8");
    expect((await send(two, "POST /items", { id: 8, name: "z" }, { "Idempotency-Key": "k2" })).status).toBe(
      first.status,
    );
  });

  test("are refused where the user may not create a table", async () => {
    const postgres = await server();
    const dsn = await postgres.createDatabase();
    await postgres.sql(
      dsn,
      `${SETUP}; CREATE ROLE clerk_${dsn.slice(7, 12)} LOGIN PASSWORD 'clerk'; GRANT ALL ON items, log TO clerk_${dsn.slice(7, 12)}`,
    );
    await using service = await serveOverPostgres(postgres, {
      files: FILES,
      dsn,
      user: `clerk_${dsn.slice(7, 12)}`,
      password: "clerk",
    });
    expect((await send(service, "POST /log")).status).toBe(200);
    expect((await send(service, "POST /log", undefined, { "Idempotency-Key": "k" })).status).toBe(400);
    expect(service.events.some(({ kind }) => kind === "keys-refused")).toBe(true);
  });
});

describe("row-level security", () => {
  const AUTH = `auth:
  enabled: true
  type: basic
  users:
    - { username: ada, password: secret-ada, roles: [clerk_ROLE, boss] }
    - { username: bob, password: secret-bob, roles: [nobody_here] }
    - { username: eve, password: secret-eve }
`;
  const TABLE = `CREATE TABLE notes (owner text DEFAULT current_setting('eider.username'), text text);
    INSERT INTO notes VALUES ('ada', 'a'), ('bob', 'b');
    ALTER TABLE notes ENABLE ROW LEVEL SECURITY; ALTER TABLE notes FORCE ROW LEVEL SECURITY;
    CREATE POLICY own ON notes USING (owner = current_setting('eider.username', true))`;
  const FILES = {
    ...route("GET /notes", "SELECT text, current_user AS who FROM notes ORDER BY text"),
    ...route(
      "GET /claims",
      "SELECT current_setting('request.jwt.claims')::json AS claims, current_setting('eider.roles') AS roles",
    ),
    ...route(
      "POST /notes",
      "INSERT INTO notes (text) VALUES ({{params.name}}) RETURNING owner",
      DATA + bodyFields({ name: "" }),
    ),
  };
  const as = (name: string): Record<string, string> => basicHeader(name, `secret-${name}`);

  test("the database knows the caller, and switches to the caller's role", async () => {
    const postgres = await server();
    const dsn = await postgres.createDatabase();
    const role = `clerk_${dsn.slice(7, 12)}`;
    await postgres.sql(dsn, `${TABLE}; CREATE ROLE ${role}; GRANT ALL ON notes TO ${role}`);
    await using service = await serveOverPostgres(postgres, {
      dsn,
      more: `    role-claim: roles\n${AUTH.replace("clerk_ROLE", role)}`,
      files: FILES,
    });
    const get = async (path: string, name: string) => {
      const { status, text } = await send(service, `GET ${path}`, undefined, as(name));
      return [status, status === 200 ? JSON.parse(text) : ""];
    };
    expect(await get("/notes", "ada")).toEqual([200, [{ text: "a", who: role }]]);
    expect(await get("/notes?limit=1", "ada")).toEqual([200, [{ text: "a", who: role }]]);
    // A role that does not exist, and no role.
    expect(await get("/notes", "bob")).toEqual([403, ""]);
    expect(await get("/notes", "eve")).toEqual([403, ""]);
    expect(await get("/claims", "ada")).toEqual([
      200,
      [{ claims: { sub: "ada", username: "ada", roles: [role, "boss"], groups: [] }, roles: `${role},boss` }],
    ]);
    const key = { ...as("ada"), "Idempotency-Key": "k" };
    const added = await send(service, "POST /notes", { name: "c" }, key);
    expect(JSON.parse(added.text)).toMatchObject({ data: [{ owner: "ada" }] });
    expect((await send(service, "POST /notes", { name: "c" }, key)).text).toBe(added.text);
    expect(await get("/notes", "ada")).toEqual([
      200,
      [
        { text: "a", who: role },
        { text: "c", who: role },
      ],
    ]);
  });

  test("without a role claim, the settings are there, and gone after the call", async () => {
    const postgres = await server();
    await using service = await serveOverPostgres(postgres, {
      setup: TABLE,
      more: `    pool: 1\n${AUTH}`,
      files: {
        ...FILES,
        ...route("GET /public", "SELECT current_setting('eider.username', true) AS name", "auth: { enabled: false }\n"),
      },
    });
    expect(JSON.parse((await send(service, "GET /claims", undefined, as("bob"))).text)[0].claims.username).toBe("bob");
    expect(JSON.parse((await send(service, "GET /public")).text)).not.toEqual([{ name: "bob" }]);
  });
});
