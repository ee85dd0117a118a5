import { relative } from "node:path";
import type { LockedFile } from "../engines/embedded-engine.ts";
import { escapeUnprintable } from "../printable.ts";
import type { Runtime } from "./command.ts";

/** Notes on standard error that a file is read as a copy. */
export function lockedFileNote({ cwd, stderr }: Pick<Runtime, "cwd" | "stderr">): (file: LockedFile) => void {
  return ({ path, pid }) => {
    const below = relative(cwd, path);
    const shown = below.startsWith("..") ? path : below;
    const owner = pid === undefined ? "another process" : `another process (PID ${pid})`;
    stderr.write(`${escapeUnprintable(`note: ${owner} has ${shown} open; using a copy of it as it is now`)}\n`);
  };
}
