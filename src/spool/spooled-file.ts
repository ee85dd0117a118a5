import { type FileHandle, open, rm } from "node:fs/promises";

/** A complete file without a name. It is deleted when it is closed, or when the process exits. */
export interface SpooledFile {
  readonly size: number;
  /** Its bytes, read on demand. The caller owns each piece. */
  pieces(): AsyncIterable<Uint8Array>;
  /** Must always be called. Further calls have no effect. */
  close(): Promise<void>;
}

/** Large enough to read efficiently, small enough to be queued on a socket. */
const PIECE_BYTES = 256 * 1024;

/** A file that is written in pieces. Its name is removed immediately. */
export interface GrowingFile {
  append(bytes: Uint8Array): Promise<void>;
  /** Returns the complete file. Nothing must be appended afterwards. */
  finish(): SpooledFile;
}

export async function createGrowingFile(path: string): Promise<GrowingFile> {
  const handle = await open(path, "wx+", 0o600);
  try {
    await rm(path);
  } catch (error) {
    await handle.close();
    throw error;
  }
  let size = 0;
  return {
    async append(bytes) {
      let at = 0;
      while (at < bytes.length) at += (await handle.write(bytes, at, bytes.length - at, size + at)).bytesWritten;
      // A partial piece does not count, because the caller still has it.
      size += at;
    },
    finish: () => spooledFile(handle, size),
  };
}

/** Opens a file and removes its name. */
export async function openNameless(path: string): Promise<SpooledFile> {
  const handle = await open(path, "r");
  try {
    await rm(path);
    return spooledFile(handle, (await handle.stat()).size);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function spooledFile(handle: FileHandle, size: number): SpooledFile {
  let closing: Promise<void> | undefined;
  return {
    size,
    async *pieces() {
      let at = 0;
      while (at < size) {
        const { buffer, bytesRead } = await handle.read({
          buffer: Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, size - at)),
          position: at,
        });
        // The length is already sent, so a short body must not look complete.
        if (bytesRead === 0) throw new Error("a spooled file has become shorter");
        at += bytesRead;
        yield buffer.subarray(0, bytesRead);
      }
    },
    close() {
      closing ??= handle.close();
      return closing;
    },
  };
}
