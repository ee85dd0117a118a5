// The cost of authentication: the same look-up without it, with a password, and with tokens. The service caches the password and
// the tokens after their first use, as it does for every client that sends more than one request.
//   npm run build && node bench/auth.mjs
// EIDER_BENCH_ROUNDS (default 9) sets the rounds after warm-up.
import { createHmac, createSign, generateKeyPairSync, pbkdf2Sync, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { printTable } from "./compare.mjs";
import { folderOf, load, median, startEider } from "./load.mjs";

const ROUNDS = Number(process.env.EIDER_BENCH_ROUNDS ?? 9);
const SECRET = randomBytes(32).toString("base64url");
const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });

const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
const claims = { sub: "alice", roles: ["read", "write"], exp: Math.floor(Date.now() / 1000) + 3600 };
const sign = (header, payload, signature) => {
  const text = `${part({ typ: "JWT", ...header })}.${part(payload)}`;
  return `${text}.${signature(text)}`;
};

/** An identity provider that only publishes its keys. */
async function keyServer() {
  const server = createServer((request, response) => {
    const issuer = `http://127.0.0.1:${server.address().port}`;
    const jwk = { ...publicKey.export({ format: "jwk" }), kid: "k", alg: "RS256", use: "sig" };
    const document = request.url.endsWith("keys") ? { keys: [jwk] } : { issuer, jwks_uri: `${issuer}/keys` };
    response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(document));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { issuer: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

function projectFolder(issuer) {
  const salt = randomBytes(16);
  const hash = pbkdf2Sync("secret", salt, 600_000, 32, "sha256");
  const password = `$pbkdf2-sha256$600000$${salt.toString("base64")}$${hash.toString("base64")}`;
  const endpoint = (name, auth) =>
    `url-path: /${name}/:id\ntemplate-source: x.sql\nconnection: [db]\nwith-pagination: false\nrequest:\n  - { field-name: id, field-in: path, validators: [{ type: int }] }\n${auth}`;
  return folderOf({
    "eider.yaml": `connections: { db: { init: "CREATE TABLE t AS SELECT range AS id, 'customer ' || range AS name FROM range(100000); CREATE INDEX i ON t (id)" } }\n`,
    "x.sql": "SELECT id, name FROM t WHERE id = {{params.id}}",
    "none.yaml": endpoint("none", ""),
    "basic.yaml": endpoint(
      "basic",
      `auth:\n  type: basic\n  users: [{ username: alice, password: "${password}", roles: [read] }]\n`,
    ),
    "hs256.yaml": endpoint("hs256", `auth:\n  type: bearer\n  jwt-secret: ${SECRET}\n`),
    "rs256.yaml": endpoint(
      "rs256",
      `auth:\n  type: oidc\n  oidc: { issuer-url: "${issuer}", client-id: x, allowed-audiences: [x] }\n`,
    ),
  });
}

const keys = await keyServer();
const server = await startEider(projectFolder(keys.issuer));
const bearer = (token) => `Authorization: Bearer ${token}\r\n`;
const sides = [
  { name: "none", headers: "" },
  { name: "basic", goal: 1.15, headers: `Authorization: Basic ${Buffer.from("alice:secret").toString("base64")}\r\n` },
  {
    name: "hs256",
    goal: 1.25,
    headers: bearer(
      sign({ alg: "HS256" }, claims, (text) => createHmac("sha256", SECRET).update(text).digest("base64url")),
    ),
  },
  {
    name: "rs256",
    goal: 1.4,
    headers: bearer(
      sign({ alg: "RS256", kid: "k" }, { ...claims, iss: keys.issuer, aud: "x" }, (text) =>
        createSign("RSA-SHA256").update(text).sign(privateKey, "base64url"),
      ),
    ),
  },
];

async function contest(what, requests, path) {
  const samples = sides.map(() => []);
  for (let round = -2; round < ROUNDS; round++) {
    // Starts with another variant each round, so that noise affects all equally.
    for (let turn = 0; turn < sides.length; turn++) {
      const index = (turn + round + sides.length) % sides.length;
      const { name, headers } = sides[index];
      const before = server.cpu();
      await load(server.url, { clients: 8, requests, headers, path: (at) => path(name, at) });
      if (round >= 0) samples[index].push((server.cpu() - before) / requests);
    }
  }
  console.log(`${what}, 8 clients, median of ${ROUNDS} interleaved rounds`);
  printTable(
    sides.map(({ name, goal }, index) => ({
      auth: name,
      "CPU us": (median(samples[index]) * 1000).toFixed(1),
      "against none": median(samples[index].map((cpu, round) => cpu / samples[0][round])).toFixed(2),
      goal: goal ?? "",
    })),
  );
}

let id = 0;
await contest("look-up by key, another each time", 3000, (name) => `/${name}/${id++ % 100_000}`);
await contest("an answer that is remembered", 40_000, (name) => `/${name}/7`);
await server.stop();
keys.close();
process.exit();
