import { constants, type FileHandle, open, stat } from "node:fs/promises";
import { errorCode } from "../error-message.ts";
import type { Report } from "../events.ts";

/** A file to which whole lines are appended, in order. */
export interface AppendedFile {
  /** Returns immediately. Lines are written in batches. */
  append(line: string): void;
  /** Writes the remaining lines. */
  close(): Promise<void>;
}

interface OpenFile {
  readonly handle: FileHandle;
  readonly ino: number;
  readonly dev: number;
}

/** Lines that are being written. */
interface Batch {
  readonly bytes: Buffer;
  /** The number of bytes already written. */
  at: number;
  /** The length of the file after a partial write. */
  fileSize: number;
}

const MAX_WAITING_BYTES = 8 * 1024 * 1024;
const BATCH_BYTES = 256 * 1024;
const RETRY_MS = 1000;
const LINE_FEED = 10;

/**
 * Appends to the file at a path. If it is moved or deleted, the next lines go to a new file. While writing fails, lines wait
 * in memory, up to a limit. Rejects if the file cannot be opened.
 */
export async function openAppendedFile(path: string, report: Report): Promise<AppendedFile> {
  const dependency = `audit file ${path}`;
  let file: OpenFile | undefined = await openForAppend(path).catch((error: unknown) => {
    throw new Error(`the audit file ${path} cannot be opened: ${reasonOf(error)}`, { cause: error });
  });
  const waitingLines: string[] = [];
  let batch: Batch | undefined;
  let waitingBytes = 0;
  let lostLines = 0;
  let isDown = false;
  let isClosed = false;
  let currentWork: Promise<void> | undefined;
  let retry: NodeJS.Timeout | undefined;

  function reportDown(message: string): void {
    isDown = true;
    report({ kind: "dependency-down", dependency, message });
  }

  function reportLost(): void {
    if (lostLines > 0) reportDown(`${lostLines} ${lostLines === 1 ? "line was" : "lines were"} lost`);
    lostLines = 0;
  }

  function nextBatch(): Batch | undefined {
    let count = 0;
    for (let length = 0; count < waitingLines.length && length < BATCH_BYTES; count++) {
      length += waitingLines[count]?.length ?? 0;
    }
    if (count === 0) return undefined;
    return { bytes: Buffer.from(waitingLines.splice(0, count).join("")), at: 0, fileSize: 0 };
  }

  /** Whether the open file is still at the path, and its length. */
  async function fileState(): Promise<{ readonly isSame: boolean; readonly size: number }> {
    const atPath = await stat(path).catch(() => undefined);
    const isSame = atPath !== undefined && atPath.ino === file?.ino && atPath.dev === file.dev;
    return { isSame, size: atPath?.size ?? 0 };
  }

  /** The file at the path. Opens a new one if the current one was moved or deleted. */
  async function currentHandle(unfinished: Batch): Promise<FileHandle> {
    const { isSame, size } = await fileState();
    // If the start of a line is in another file, or was truncated, the whole line is written again.
    if (!isSame || size < unfinished.fileSize) unfinished.at = lineStart(unfinished);
    if (isSame && file !== undefined) return file.handle;
    await file?.handle.close().catch(() => {});
    file = undefined;
    file = await openForAppend(path);
    return file.handle;
  }

  async function write(unfinished: Batch): Promise<void> {
    for (;;) {
      const target = await currentHandle(unfinished);
      const from = unfinished.at;
      try {
        while (unfinished.at < unfinished.bytes.length)
          unfinished.at += (await target.write(unfinished.bytes, unfinished.at)).bytesWritten;
      } catch (error) {
        unfinished.fileSize = (await target.stat().catch(() => undefined))?.size ?? 0;
        throw error;
      }
      if ((await target.stat()).nlink > 0 || (await fileState()).isSame) return;
      // The file was deleted, so the lines are written again.
      unfinished.at = from;
    }
  }

  async function work(): Promise<void> {
    // Lines from the same iteration of the event loop are one batch.
    await new Promise((resolve) => setImmediate(resolve));
    clearTimeout(retry);
    try {
      for (batch ??= nextBatch(); batch !== undefined; batch = nextBatch()) {
        await write(batch);
        waitingBytes -= batch.bytes.length;
      }
      reportLost();
      if (isDown) report({ kind: "dependency-up", dependency });
      isDown = false;
    } catch (error) {
      if (!isDown) reportDown(`${reasonOf(error)}; lines are held in memory meanwhile`);
      if (!isClosed) retry = setTimeout(begin, RETRY_MS).unref();
    } finally {
      currentWork = undefined;
    }
  }

  function begin(): void {
    currentWork ??= work();
  }

  return {
    append(line) {
      if (isClosed) return;
      const bytes = Buffer.byteLength(line);
      if (waitingBytes + bytes > MAX_WAITING_BYTES) {
        lostLines++;
        if (lostLines === 1) reportDown(`${MAX_WAITING_BYTES >> 20} MiB of lines are waiting; new ones are lost`);
      } else {
        waitingLines.push(line);
        waitingBytes += bytes;
      }
      begin();
    },
    async close() {
      if (isClosed) return;
      isClosed = true;
      await currentWork;
      if (waitingBytes > 0) begin();
      await currentWork;
      clearTimeout(retry);
      const rest = batch === undefined ? 0 : linesIn(batch.bytes.subarray(lineStart(batch)));
      lostLines += rest + waitingLines.length;
      reportLost();
      await file?.handle.close().catch(() => {});
    },
  };
}

/** A new file is readable by its owner only. Opening a pipe without a reader fails instead of blocking. */
async function openForAppend(path: string): Promise<OpenFile> {
  const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;
  const handle = await open(path, flags, 0o600);
  try {
    const { ino, dev } = await handle.stat();
    return { handle, ino, dev };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** The start of the line that is partly written. */
function lineStart({ bytes, at }: Batch): number {
  return at === 0 ? 0 : bytes.lastIndexOf(LINE_FEED, at - 1) + 1;
}

function linesIn(bytes: Buffer): number {
  let count = 0;
  for (const byte of bytes) if (byte === LINE_FEED) count++;
  return count;
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EPERM: "permission denied",
  EROFS: "the file system is read-only",
  ENOSPC: "no space is left",
  EDQUOT: "no space is left",
  EFBIG: "it is too large",
  ENOENT: "its folder does not exist",
  ENOTDIR: "its folder is not a folder",
  EISDIR: "it is a folder",
  ENXIO: "the pipe has no reader",
  EAGAIN: "the pipe has no reader",
  EMFILE: "too many files are open",
  ENFILE: "too many files are open",
};

function reasonOf(error: unknown): string {
  const code = errorCode(error) ?? "";
  return REASONS[code] ?? (code === "" ? String(error) : code);
}
