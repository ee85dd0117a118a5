import { join } from "node:path";
import { expect, test } from "vitest";
import { loadProject } from "./load-project.ts";
import { formatProblem } from "./problem.ts";

const cwd = join(import.meta.dirname, "../../test/fixtures/flapi");
const env = { HARBOUR_REGION: "north", HARBOUR_CACHE: "/tmp/cache", HARBOUR_USER: "u", HARBOUR_PASSWORD: "p" };

test("a folder in the dialect of flAPI loads, with warnings at most", async () => {
  const { project, problems } = await loadProject({ cwd, env, overrides: {} });
  expect(problems.filter(({ severity }) => severity === "error").map(formatProblem)).toEqual([]);
  expect(problems.map(({ path, message }) => `${path}: ${message.split(";")[0]}`)).toMatchSnapshot();
  expect(project?.main).toMatchObject({ name: "harbour-office", version: "2.3" });
  expect(project?.endpoints.map(({ rest, mcp }) => rest?.urlPath ?? mcp?.name)).toEqual([
    "harbour_report",
    "/berths",
    "/orders/:order_id",
    "ship_lookup",
    "/ships",
  ]);
  const ships = project?.endpoints.find(({ rest }) => rest?.urlPath === "/ships");
  expect(ships?.parameters).toMatchObject([{ name: "id" }, { name: "class", default: "cargo" }]);
  expect(ships?.connections[0]?.properties.get("path")).toBe(join(cwd, "data/ships.parquet"));
  expect(project?.main.connections.get("berths-db")?.properties.get("region")).toBe("north");
});

test("its security is taken as it is, with warnings of what is weak in it", async () => {
  const { project, problems } = await loadProject({ cwd, env: { ...env, HARBOUR_SECURE: "1" }, overrides: {} });
  const unsafe = problems.filter(({ security }) => security).map(formatProblem);
  expect(unsafe).toEqual([
    expect.stringMatching(
      /^sqls\/shared\/harbour-common.yaml:\d+:\d+: warning: auth.users\[0\].password: a plain password/,
    ),
    expect.stringMatching(
      /^sqls\/ships-mcp-tool.yaml:\d+:\d+: warning: mcp-tool.allowed-roles: 'allowed-roles' is ignored/,
    ),
  ]);
  const guarded = project?.endpoints.filter(({ auth }) => auth !== undefined) ?? [];
  expect(guarded.map(({ auth }) => auth)).toEqual([
    { kind: "basic", users: [{ username: "u", password: "p", roles: expect.any(Array) }], secretUsers: undefined },
  ]);
});
