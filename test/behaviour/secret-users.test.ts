import { expect } from "vitest";
import { sharedMoto, testWithMoto } from "../moto.ts";
import { quickHash } from "../passwords.ts";
import { basicHeader } from "../readme-users.ts";
import { type Files, serviceFrom } from "../service.ts";

const project = (block: string, sql: string): Files => ({
  "eider.yaml": `connections: { memory: {} }\nauth:\n  type: basic\n  from-aws-secretmanager:\n${block.replace(/^/gm, "    ")}\n`,
  "me.yaml": "url-path: /me\ntemplate-source: me.sql\nconnection: [memory]\nwith-pagination: false\n",
  "me.sql": sql,
});

const ME = "SELECT '{{{auth.username}}}' AS name, '{{{auth.roles}}}' AS roles, {{auth.type}} AS type";

const sharedServer = sharedMoto();

testWithMoto("users of a secret are let in with their roles; others are not", async () => {
  const moto = await sharedServer();
  const auth = [
    { username: "ann", password: await quickHash("p"), roles: ["admin", "ops"] },
    { username: "x' OR true --", password: await quickHash("q") },
  ];
  const name = await moto.create("eider/users", JSON.stringify({ auth }));
  const files = project(`secret-name: ${name}\nsecret-table: auth.users\ninit: CREATE SCHEMA auth; SELECT 1`, ME);
  await using service = await serviceFrom(files, moto.env);
  const me = async (username: string, password: string): Promise<readonly unknown[]> => {
    const answer = await service.get("/me", basicHeader(username, password));
    return [answer.status, await answer.json()];
  };
  for (const _ of ["first", "remembered"]) {
    expect(await me("ann", "p")).toEqual([200, [{ name: "ann", roles: "admin,ops", type: "basic" }]]);
    expect(await me("x' OR true --", "q")).toEqual([200, [{ name: "x' OR true --", roles: "", type: "basic" }]]);
  }
  for (const [username, password] of [
    ["ann", "q"],
    ["ann", ""],
    ["bob", "p"],
    ["' OR true --", "p"],
    ["", ""],
  ] as const) {
    expect(await me(username, password)).toEqual([401, { error: "Unauthorized" }]);
  }
  expect(service.problems).toEqual([]);
});

testWithMoto("a secret that cannot be used stops the start with its name; weak passwords are warned of", async () => {
  const moto = await sharedServer();
  const start = (block: string): Promise<AsyncDisposable> => serviceFrom(project(block, ME), moto.env);
  await expect(start("secret-name: no-such")).rejects.toThrow(
    "secret 'no-such': there is no such secret in region 'eu-central-1'",
  );
  await moto.create("broken", "hunter2");
  await expect(start("secret-name: broken")).rejects.toThrow("secret 'broken': it is not JSON");
  await moto.create("weak", '{"ann": "hunter2"}');
  await using service = await serviceFrom(project("secret-name: weak", ME), moto.env);
  expect(service.problems).toEqual([expect.stringContaining("secret 'weak': 1 of 1 passwords: a plain password")]);
  expect(String(service.problems)).not.toContain("hunter2");
});
