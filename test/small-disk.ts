import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A file system of its own, with so little room that a test can fill it. */
export interface SmallDisk extends AsyncDisposable {
  readonly path: string;
  /** Takes all the room that is left, but for so many bytes. */
  fill(butBytes?: number): Promise<void>;
  /** Gives it back. */
  free(): Promise<void>;
}

/** Why tests that need one cannot run; undefined when they can. */
export const missingSmallDisk = tryToMount();

export function smallDisk(mib: number): SmallDisk {
  const path = mount(mib);
  const ballast = join(path, "ballast");
  return {
    path,
    async fill(butBytes = 0) {
      const file = await open(ballast, "a");
      const piece = Buffer.alloc(64 * 1024);
      try {
        for (;;) await file.write(piece);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
        const { size } = await file.stat();
        await file.truncate(Math.max(0, size - butBytes));
      } finally {
        await file.close();
      }
    },
    free: () => rm(ballast, { force: true }),
    async [Symbol.asyncDispose]() {
      unmount(path);
    },
  };
}

function mount(mib: number): string {
  const path = mkdtempSync(join(tmpdir(), "eider-disk-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${mib}m`, "tmpfs", path], { stdio: "pipe" });
  } catch (error) {
    rmSync(path, { recursive: true });
    throw error;
  }
  return path;
}

function unmount(path: string): void {
  // Lazily: a file that a killed process had open may be held for a moment longer.
  execFileSync("umount", ["-l", path], { stdio: "pipe" });
  rmSync(path, { recursive: true });
}

function tryToMount(): string | undefined {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "only root can mount a tmpfs, on Linux";
  try {
    unmount(mount(1));
    return undefined;
  } catch {
    return "a tmpfs cannot be mounted here";
  }
}
