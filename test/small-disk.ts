import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A file system that is so small that a test can fill it. */
export interface SmallDisk extends AsyncDisposable {
  readonly path: string;
  /** Fills the free space, except for `butBytes` bytes. */
  fill(butBytes?: number): Promise<void>;
  /** Frees the space again. */
  free(): Promise<void>;
}

/** The reason why tests that need a small disk cannot run. Undefined if they can. */
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
  // Lazily, because files of a killed process may stay open for a moment.
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
