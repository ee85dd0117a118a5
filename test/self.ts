import { tmpdir } from "node:os";
import type { Runtime } from "../src/cli/command.ts";

/** The folder for temporary files, and the process that creates them. */
export const testSelf: Pick<Runtime, "temporary" | "self"> = {
  temporary: tmpdir(),
  self: { pid: process.pid, startedAt: performance.timeOrigin, isRunning: () => true },
};
