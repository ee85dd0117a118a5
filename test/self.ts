import { tmpdir } from "node:os";
import type { Runtime } from "../src/cli/command.ts";

/** Where temporary files of a test lie, and who makes them. */
export const testSelf: Pick<Runtime, "temporary" | "self"> = {
  temporary: tmpdir(),
  self: { pid: process.pid, startedAt: performance.timeOrigin, isRunning: () => true },
};
