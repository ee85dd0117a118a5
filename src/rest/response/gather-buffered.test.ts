import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { RequestFailure } from "../../failure.ts";
import type { Encoder } from "../../formats/format.ts";
import type { Spool } from "../../spool/spool.ts";
import type { GrowingFile, SpooledFile } from "../../spool/spooled-file.ts";
import { type BufferedRows, gatherBuffered } from "./gather-buffered.ts";

const MIB = 1024 * 1024;

/** A spool in memory. Writing may fail after a number of bytes. */
function spoolOf(room = Number.POSITIVE_INFINITY): Spool & { closed: number } {
  const spool = {
    folder: "",
    closed: 0,
    write: () => Promise.reject(new Error("not here")),
    close: async () => {},
    copyDatabase: async () => "",
    linkFiles: async () => "",
    makeSpill: async () => "",
    async openGrowing(): Promise<GrowingFile> {
      if (room === 0) throw new RequestFailure({ kind: "query-failed", message: "no space" });
      const written: Uint8Array[] = [];
      let size = 0;
      return {
        async append(bytes) {
          if (size + bytes.length > room) throw new Error("ENOSPC");
          written.push(bytes);
          size += bytes.length;
        },
        finish: (): SpooledFile => ({
          size,
          async *pieces() {
            yield* written;
          },
          async close() {
            spool.closed++;
          },
        }),
      };
    },
  };
  return spool;
}

/** An encoder with chunks of one MiB and an end of one byte. */
function bytesOf(mib: number): {
  whole: Buffer;
  gather: (maxBytes: number, spool: Spool, failsAt?: number) => Promise<BufferedRows>;
} {
  const body = randomBytes(mib * MIB);
  let at = 0;
  const encoder: Encoder = { encode: () => body.subarray(MIB * at, MIB * ++at), end: () => Buffer.from("!") };
  return {
    whole: Buffer.concat([body, Buffer.from("!")]),
    gather: (maxBytes, spool, failsAt) =>
      gatherBuffered(encoder, {
        maxBytes,
        spool,
        async next() {
          if (at === failsAt) throw new Error("broken");
          return at < mib ? { rows: 1, vectors: [] } : undefined;
        },
      }),
  };
}

async function allOf(file: SpooledFile | undefined, pieces: readonly Uint8Array[]): Promise<Buffer> {
  const all: Uint8Array[] = [];
  if (file !== undefined) for await (const piece of file.pieces()) all.push(piece);
  return Buffer.concat([...all, ...pieces]);
}

test("a small body stays in memory", async () => {
  const { whole, gather } = bytesOf(15);
  const gathered = await gather(64 * MIB, spoolOf());
  if (gathered.kind !== "in-memory") throw new Error(gathered.kind);
  expect(Buffer.concat(gathered.pieces).equals(whole)).toBe(true);
  expect(gathered.size).toBe(whole.length);
});

test("a larger body goes to a file", async () => {
  const { whole, gather } = bytesOf(20);
  const gathered = await gather(64 * MIB, spoolOf());
  if (gathered.kind !== "in-file") throw new Error(gathered.kind);
  expect((await allOf(gathered.file, [])).equals(whole)).toBe(true);
  expect(gathered.file.size).toBe(whole.length);
});

test.each([
  ["in memory", 3.5, 4],
  ["in a file", 24.5, 25],
])("stops as soon as the limit is exceeded: %s", async (_, room, held) => {
  const { whole, gather } = bytesOf(40);
  const gathered = await gather(room * MIB, spoolOf());
  if (gathered.kind !== "too-many") throw new Error(gathered.kind);
  const bytes = await allOf(gathered.file, gathered.pieces);
  expect(bytes.length).toBe(held * MIB);
  expect(bytes.equals(whole.subarray(0, bytes.length))).toBe(true);
  expect(gathered.allEncoded).toBe(false);
});

test("the last byte can exceed the limit", async () => {
  const { whole, gather } = bytesOf(20);
  const gathered = await gather(20 * MIB, spoolOf());
  if (gathered.kind !== "too-many") throw new Error(gathered.kind);
  expect((await allOf(gathered.file, gathered.pieces)).equals(whole)).toBe(true);
  expect(gathered.allEncoded).toBe(true);
});

test.each([0, 5, 18])("a disk that is full after %d MiB costs the Content-Length, not the response", async (room) => {
  const { whole, gather } = bytesOf(40);
  const gathered = await gather(64 * MIB, spoolOf(room * MIB));
  if (gathered.kind !== "too-many") throw new Error(gathered.kind);
  const bytes = await allOf(gathered.file, gathered.pieces);
  expect(bytes.length).toBeGreaterThan(16 * MIB);
  expect(bytes.equals(whole.subarray(0, bytes.length))).toBe(true);
});

test("rows that fail leave no file", async () => {
  const spool = spoolOf();
  await expect(bytesOf(40).gather(64 * MIB, spool, 30)).rejects.toThrow("broken");
  expect(spool.closed).toBe(1);
});
