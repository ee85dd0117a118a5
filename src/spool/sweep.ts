import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";

/** Who writes: folders of the dead are removed, those of the living are not. */
export interface CurrentProcess {
  readonly pid: number;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  isRunning(pid: number): boolean;
}

const NAME = /^eider-(?:spool|spill)-(\d+)-[0-9a-f-]{36}$/;

/** Unguessable, and it says whose it is. */
export function folderName(use: "spool" | "spill", pid: number): string {
  return `eider-${use}-${pid}-${crypto.randomUUID()}`;
}

/** Removes what processes left that were killed while they wrote. What cannot be removed is somebody else's, and stays. */
export async function sweep(parent: string, self: CurrentProcess): Promise<void> {
  for (const name of await readdir(parent).catch(() => [])) {
    const pid = NAME.exec(name)?.[1];
    if (pid === undefined) continue;
    const folder = join(parent, name);
    if (await isLeft(folder, Number(pid), self)) await rm(folder, { recursive: true, force: true }).catch(() => {});
  }
}

/** In a container every start has the same number: what bears ours and is older than we are was left by an earlier one. */
async function isLeft(folder: string, pid: number, self: CurrentProcess): Promise<boolean> {
  if (pid !== self.pid) return !self.isRunning(pid);
  const entry = await stat(folder).catch(() => undefined);
  return entry !== undefined && entry.mtimeMs < self.startedAt;
}
