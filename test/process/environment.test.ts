import { writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { until } from "../until.ts";
import { type Files, runHere, startHere } from "./program.ts";

const MAIN = "connections: { memory: {} }\nhttp-port: 0\n";
const region: Files = {
  "eider.yaml": `${MAIN}template: { environment-whitelist: [REGION] }\n`,
  "x.yaml": "url-path: /x\ntemplate-source: x.sql\nconnection: memory\nwith-pagination: false\n",
  "x.sql": "SELECT '{{env.REGION}}' AS region",
};

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}

describe(".env beside the configuration file", () => {
  test("its variables count, the real environment wins, and the whitelist decides", async () => {
    const files = { ...region, ".env": "REGION=north\n" };
    await using program = await startHere(files);
    expect(await (await fetch(`${await program.url()}/x`)).json()).toEqual([{ region: "north" }]);
    await using other = await startHere(files, { env: { REGION: "south" } });
    expect(await (await fetch(`${await other.url()}/x`)).json()).toEqual([{ region: "south" }]);
    const without = await runHere(files, { args: ["check", "--no-env-file"] });
    expect([without.code, without.stderr]).toEqual([1, expect.stringContaining("Environment variable REGION")]);
    const unlisted = { ...files, "eider.yaml": MAIN };
    const { stderr } = await runHere(unlisted, { args: ["check"] });
    expect(stderr).toContain("Environment variable REGION not found; it is not listed");
  });

  test("every command that loads a project reads it, wherever it runs", async () => {
    const files: Files = Object.fromEntries(
      Object.entries({ ...region, ".env": 'REGION="north"\n' }).map(([name, text]) => [`project/${name}`, text]),
    );
    for (const args of [["check"], ["openapi"], ["client"], ["cache", "list"], ["check", "--offline"]]) {
      const { code, stderr } = await runHere(files, { args: [...args, "--config", "project/eider.yaml"] });
      expect([args, code, stderr]).toEqual([args, 0, ""]);
    }
  });

  test("the port may be there; a reload reads it again", async () => {
    const port = await freePort();
    const files = { ...region, ".env": `EIDER_PORT=${port}\nREGION=north\n` };
    await using program = await startHere(files, { args: ["serve", "--watch"] });
    const url = await program.url();
    expect(url).toBe(`http://127.0.0.1:${port}`);
    await writeFile(join(program.folder, ".env"), `EIDER_PORT=${port}\nREGION=west\n`);
    await until("the new value", async () => (await (await fetch(`${url}/x`)).text()).includes("west") || undefined);
  });
});

describe("the configuration file", () => {
  test("eider.yml is found like eider.yaml, before flapi.yaml", async () => {
    const named = (name: string): string => `${MAIN}${name}: 1\n`;
    const files = { "eider.yml": named("second"), "flapi.yaml": named("third") };
    const problem = async (all: Files): Promise<string> => (await runHere(all, { args: ["check"] })).stderr;
    expect(await problem({ "eider.yaml": named("first"), ...files })).toContain("eider.yaml:3:1: first");
    expect(await problem(files)).toContain("eider.yml:3:1: second");
  });

  test("EIDER_CONFIG and FLAPI_CONFIG name it; --config wins", async () => {
    const files = { "a.yaml": `${MAIN}first: 1\n`, "b.yaml": `${MAIN}second: 1\n`, "c.yaml": `${MAIN}third: 1\n` };
    const problem = async (env: Record<string, string>, ...args: readonly string[]): Promise<string> =>
      (await runHere(files, { args: ["check", ...args], env })).stderr;
    expect(await problem({ FLAPI_CONFIG: "a.yaml" })).toContain("a.yaml:3:1: first");
    expect(await problem({ FLAPI_CONFIG: "a.yaml", EIDER_CONFIG: "b.yaml" })).toContain("b.yaml:3:1: second");
    expect(await problem({ FLAPI_CONFIG: "a.yaml" }, "-c", "c.yaml")).toContain("c.yaml:3:1: third");
    expect(await problem({ FLAPI_CONFIG: "none.yaml" })).toContain("none.yaml:1:1: not found");
  });
});

describe("flAPI", () => {
  test("FLAPI_PORT and FLAPI_HOST are the defaults of EIDER_PORT and EIDER_HOST", async () => {
    const [one, two] = [await freePort(), await freePort()];
    const flapi = { FLAPI_PORT: String(one), FLAPI_HOST: "127.0.0.2" };
    await using program = await startHere({ "flapi.yaml": "connections: { memory: {} }\n" }, { env: flapi });
    expect(await program.url()).toBe(`http://127.0.0.2:${one}`);
    const own = { ...flapi, EIDER_PORT: String(two), EIDER_HOST: "127.0.0.3" };
    await using other = await startHere({ "flapi.yaml": "connections: { memory: {} }\n" }, { env: own });
    expect(await other.url()).toBe(`http://127.0.0.3:${two}`);
  });

  test("its options are understood", async () => {
    const { REGION } = { REGION: "north" };
    const options = ["--log-level", "warning", "--no-telemetry"];
    for (const service of [
      ["--config-service"],
      ["--config-service", "--config-service-token", "s3cr3t"],
      ["--config-service", "--config-service-token=s3cr3t"],
    ]) {
      const args = ["-c", "eider.yaml", ...options, ...service, "--validate-config"];
      expect(await runHere(region, { args, env: { REGION } })).toEqual({
        code: 0,
        stdout: "1 endpoint, no problems\n",
        stderr: "eider: --config-service is ignored; Eider has no configuration service\n",
      });
    }
    const quiet = await runHere(region, { args: [...options, "--validate-config"], env: { REGION } });
    expect([quiet.code, quiet.stderr]).toEqual([0, ""]);
  });

  test("--log-level warning and FLAPI_LOG_LEVEL hide what is less", async () => {
    for (const { args, env } of [
      { args: ["--log-level", "warning"], env: {} },
      { args: [], env: { FLAPI_LOG_LEVEL: "warning" } },
    ]) {
      await using program = await startHere(region, { args, env: { ...env, REGION: "north" } });
      await program.url();
      program.signal("SIGHUP");
      program.signal("SIGTERM");
      await program.exited;
      expect(program.stderr()).toBe("");
    }
  });
});
