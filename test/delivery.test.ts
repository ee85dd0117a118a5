import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { commands } from "../src/cli/index.ts";
import { readOptions } from "../src/cli/options.ts";
import { argumentsIn, dockerStages, finalStage, imageEnvironment, lastOf } from "./dockerfile.ts";
import { testNeeding } from "./needing.ts";

/** What is handed to those who run it, held against the tree and the program. */
const root = join(import.meta.dirname, "..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");

/** The arguments after the program: a command that is there, with options that it takes. */
function expectArguments(args: readonly string[]): void {
  const [command, ...rest] = args;
  expect(commands.map(({ name }) => name)).toContain(command);
  expect(() => readOptions(rest, ["strict", "offline"])).not.toThrow();
}

describe("the Dockerfile", () => {
  const stages = dockerStages();
  const copies = stages.flat().filter(({ name }) => name === "COPY");
  const fromTree = copies
    .filter(({ words }) => !words[0]?.startsWith("--from="))
    .flatMap(({ words }) => words.slice(0, -1));

  test("copies what is there, and what .dockerignore lets through", () => {
    expect(fromTree.length).toBeGreaterThan(5);
    const ignored = read(".dockerignore").split("\n");
    expect(ignored).toContain("*");
    for (const source of fromTree) {
      expect([source, existsSync(join(root, source))]).toEqual([source, true]);
      expect(ignored).toContain(`!${source}`);
    }
    const passing = ignored.filter((line) => line.startsWith("!")).map((line) => line.slice(1));
    expect(passing.toSorted()).toEqual([...new Set(fromTree)].toSorted());
  });

  test("copies from stages that come before", () => {
    const names: string[] = [];
    for (const stage of stages) {
      for (const { name, words } of stage) {
        const from = name === "COPY" ? /^--from=(.*)$/.exec(words[0] ?? "")?.[1] : undefined;
        if (from !== undefined) expect(names).toContain(from);
        if (name === "FROM" && words[1] === "AS") names.push(words[2] ?? "");
      }
    }
    expect(names).toEqual(["build", "dependencies"]);
  });

  test("takes the version of Node that package.json asks for", () => {
    const { engines } = JSON.parse(read("package.json")) as { engines: { node: string } };
    const [argument] = stages[0] ?? [];
    // The newest version of that line.
    expect(`>=${argument?.text.replace("NODE_VERSION=", "")}`).toBe(engines.node.replace(/\.\d+$/, ""));
    for (const [from] of stages.slice(1)) expect(from?.words[0]).toMatch(/^node:\$\{NODE_VERSION\}-/);
  });

  test("runs as somebody who is not root, and does nothing as root after that", () => {
    const names = finalStage().map(({ name }) => name);
    expect(lastOf("USER").text).toBe("node");
    expect(names.lastIndexOf("RUN")).toBeLessThan(names.lastIndexOf("USER"));
  });

  test("starts the program with options that it has, and asks for its health", () => {
    expect(argumentsIn(lastOf("ENTRYPOINT"))).toEqual(["node", "/app/bin/eider.cjs"]);
    expectArguments(argumentsIn(lastOf("CMD")));
    expect(lastOf("EXPOSE").text).toBe(imageEnvironment()["EIDER_PORT"]);
    const [program, flag, script] = argumentsIn(lastOf("HEALTHCHECK"));
    expect([program, flag]).toEqual(["node", "-e"]);
    expect(script).toContain("/health/live");
  });
});

describe("the unit of systemd", () => {
  const unit = read("docs/deploy/eider.service");
  const valuesOf = (key: string): readonly string[] =>
    [...unit.matchAll(new RegExp(`^${key}=(.*)$`, "gm"))].map(([, value = ""]) => value);

  test("starts the program with options that it has", () => {
    for (const line of [...valuesOf("ExecStart"), ...valuesOf("ExecStartPre")]) {
      const [node, program, ...args] = line.split(" ");
      expect([node, program]).toEqual(["/usr/bin/node", "/opt/eider/bin/eider.cjs"]);
      expectArguments(args);
    }
    expect(valuesOf("ExecReload")).toEqual(["/bin/kill -HUP $MAINPID"]);
  });

  test("gives it nothing that it does not need", () => {
    for (const [key, value] of [
      ["DynamicUser", "yes"],
      ["NoNewPrivileges", "yes"],
      ["ProtectSystem", "strict"],
      ["CapabilityBoundingSet", ""],
    ]) {
      expect([key, valuesOf(key ?? "")]).toEqual([key, [value]]);
    }
  });

  const ANALYZER = "systemd-analyze";
  const isThere = spawnSync(ANALYZER, ["--version"]).status === 0;
  const analyzed = testNeeding(isThere ? undefined : `there is no ${ANALYZER}`);
  const analyze = (...args: readonly string[]): string => {
    const { stdout, stderr, status } = spawnSync(ANALYZER, args, { cwd: root, encoding: "utf8" });
    return `${stdout}${stderr}status ${status}`;
  };

  analyzed("is one that systemd understands, and rates as safe", async () => {
    // It looks for the programs, which are not where they will be: that is all it may complain about.
    const said = analyze("verify", "docs/deploy/eider.service");
    expect(said.split("\n").filter((line) => !/is not executable|^status/.test(line) && line !== "")).toEqual([]);
    const [, exposure] = /exposure level for \S+: ([\d.]+)/.exec(
      analyze("security", "--offline=true", "docs/deploy/eider.service"),
    ) ?? ["", "10"];
    expect(Number(exposure)).toBeLessThan(2);
  });
});
