import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";

/** The current process. Folders of processes that have exited are deleted. */
export interface CurrentProcess {
  readonly pid: number;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  isRunning(pid: number): boolean;
}

const NAME = /^eider-(?:spool|spill|links|copies)-(\d+)-[0-9a-f-]{36}$/;

/** An unguessable name that contains the process ID. */
export function folderName(use: "spool" | "spill" | "links" | "copies", pid: number): string {
  return `eider-${use}-${pid}-${crypto.randomUUID()}`;
}

/** Deletes the folders of processes that were killed. Folders of other users cannot be deleted, and stay. */
export async function sweep(parent: string, self: CurrentProcess): Promise<void> {
  for (const name of await readdir(parent).catch(() => [])) {
    const pid = NAME.exec(name)?.[1];
    if (pid === undefined) continue;
    const folder = join(parent, name);
    if (await isLeftover(folder, Number(pid), self)) await rm(folder, { recursive: true, force: true }).catch(() => {});
  }
}

/** In a container, Eider always has the same process ID. So a folder with this ID may be older than the process. */
async function isLeftover(folder: string, pid: number, self: CurrentProcess): Promise<boolean> {
  if (pid !== self.pid) return !self.isRunning(pid);
  const entry = await stat(folder).catch(() => undefined);
  return entry !== undefined && entry.mtimeMs < self.startedAt;
}
