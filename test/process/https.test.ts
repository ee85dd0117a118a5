import { mkdir, rename, symlink, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeCertificate } from "../certificates.ts";
import { folderWith, runHere, start } from "./program.ts";

const FILES = {
  "x.yaml": "url-path: /x\ntemplate-source: x.sql\nconnection: [db]\nwith-pagination: false\n",
  "x.sql": "SELECT 1 AS n",
};
const MAIN =
  "connections: { db: {} }\nenforce-https: { enabled: true, ssl-cert-file: ./tls/cert.pem, ssl-key-file: ./tls/key.pem }\n";

/** One request over a connection of its own; also tells who answered. */
function ask(url: string, ca: string): Promise<{ status: number; headers: unknown; body: string; subject: string }> {
  return new Promise((resolve, reject) => {
    const asking = request(url, { ca, agent: false, servername: "localhost" }, (response) => {
      const socket = response.socket as unknown as { getPeerCertificate(): { subject: { CN: string } } };
      const subject = socket.getPeerCertificate().subject.CN;
      let body = "";
      response.setEncoding("utf8").on("data", (text: string) => {
        body += text;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body, subject }));
    });
    asking.on("error", reject).end();
  });
}

test("the program speaks TLS itself, and nothing else; a new certificate is used when it lies there", async () => {
  const first = await makeCertificate({ name: "localhost" });
  const files = { ...FILES, "eider.yaml": MAIN, "first/cert.pem": first.cert, "first/key.pem": first.key };
  await using folder = await folderWith(files);
  const place = (name: string): string => join(folder.path, name);
  await symlink("first", place("tls"));
  await using program = await start({}, { args: ["serve", "--port", "0"], cwd: folder.path });
  const url = (await program.url()).replace("127.0.0.1", "localhost");
  expect(url).toMatch(/^https:\/\//);
  const answer = await ask(`${url}/x`, first.cert);
  expect([answer.status, answer.body]).toEqual([200, '[{"n":1}]']);
  expect(answer.headers).toMatchObject({ "strict-transport-security": "max-age=31536000" });
  await expect(fetch(`${url.replace("https", "http")}/x`)).rejects.toThrow();

  const second = await makeCertificate({ name: "localhost" });
  await mkdir(place("second"));
  await writeFile(place("second/cert.pem"), second.cert);
  await writeFile(place("second/key.pem"), second.key);
  // Both at once: half of a pair would be left alone until the next look, ten seconds later.
  await symlink("second", place("tls.new"));
  await rename(place("tls.new"), place("tls"));
  await expect
    .poll(
      () =>
        ask(`${url}/x`, second.cert).then(
          ({ status }) => status,
          () => 0,
        ),
      { interval: 500 },
    )
    .toBe(200);
  program.signal("SIGTERM");
  expect(await program.exited).toMatchObject({ code: 0 });
});

test.each([
  ["no file", {}, /\.pem/],
  ["nonsense", { "tls/cert.pem": "nonsense", "tls/key.pem": "nonsense" }, /cert\.pem/],
])("a certificate that cannot be used is a problem of the project: %s", async (_, more, message) => {
  const { code, stdout, stderr } = await runHere(
    { ...FILES, "eider.yaml": MAIN, ...more },
    { args: ["serve", "--port", "0"] },
  );
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toMatch(/^eider\.yaml:2:1: enforce-https: /m);
  expect(stderr).toMatch(message);
});

test("--strict: security warnings stop the start", async () => {
  const files = {
    ...FILES,
    "eider.yaml": "connections: { db: {} }\nauth: { type: basic, users: [{ username: a, password: b }] }\n",
  };
  for (const command of ["serve", "check"]) {
    const { code, stderr } = await runHere(files, { args: [command, "--strict"] });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^eider\.yaml:2:\d+: auth\.users\[0\]\.password: a plain password/);
  }
  const { code, stderr } = await runHere(files, { args: ["check"] });
  expect(code).toBe(0);
  expect(stderr).toMatch(/warning: auth\.users\[0\]\.password/);
});

test("--strict: so do warnings about values in SQL for another parser", async () => {
  const files = {
    "eider.yaml": "connections: { db: {} }\n",
    "a.yaml": "url-path: /a\ntemplate-source: a.sql\nconnection: [db]\nrequest: [{ field-name: x, field-in: query }]\n",
    "a.sql": "SELECT * FROM query('SELECT ''{{{params.x}}}'' AS v')",
  };
  const strict = await runHere(files, { args: ["check", "--strict"] });
  expect(strict.code).toBe(1);
  expect(strict.stderr).toMatch(/^a\.sql:1:21: a client value becomes part of the SQL that query runs/);
  expect((await runHere(files, { args: ["check"] })).code).toBe(0);
});
