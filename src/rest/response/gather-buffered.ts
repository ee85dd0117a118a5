import type { ReadResult } from "../../calls/run-endpoint.ts";
import type { Encoder } from "../../formats/format.ts";
import type { Spool } from "../../spool/spool.ts";
import type { GrowingFile, SpooledFile } from "../../spool/spooled-file.ts";

/** A larger response is buffered in a file, so that many slow clients do not fill the memory. */
const IN_MEMORY_BYTES = 16 * 1024 * 1024;

/** Encoded rows, buffered to learn their length: in memory, in a file, or too many for either. */
export type BufferedRows =
  | { readonly kind: "in-memory"; readonly pieces: readonly Uint8Array[]; readonly size: number }
  | { readonly kind: "in-file"; readonly file: SpooledFile }
  /** In this order: the file, if any; the pieces; the remaining rows, unless `allEncoded`. */
  | {
      readonly kind: "too-many";
      readonly file: SpooledFile | undefined;
      readonly pieces: Uint8Array[];
      readonly allEncoded: boolean;
    };

export interface BufferingOptions {
  readonly maxBytes: number;
  readonly spool: Spool;
  readonly next: () => ReturnType<ReadResult["rows"]["next"]>;
}

/** Encodes rows until they end or exceed `maxBytes`. Closes its file when it fails. */
export async function gatherBuffered(
  encoder: Encoder,
  { maxBytes, spool, next }: BufferingOptions,
): Promise<BufferedRows> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  let file: GrowingFile | undefined;

  /** Returns false if the file cannot be written. The response then has no Content-Length. */
  async function moveToFile(): Promise<boolean> {
    try {
      file ??= await spool.openGrowing();
      for (let piece = pieces[0]; piece !== undefined; piece = pieces[0]) {
        await file.append(piece);
        pieces.shift();
      }
      return true;
    } catch {
      return false;
    }
  }

  /** Returns false if there is no room left. */
  async function add(bytes: Uint8Array): Promise<boolean> {
    if (bytes.length > 0) pieces.push(bytes);
    size += bytes.length;
    if (size > maxBytes) return false;
    return size <= IN_MEMORY_BYTES || (await moveToFile());
  }

  function tooMany(allEncoded: boolean): BufferedRows {
    return { kind: "too-many", file: file?.finish(), pieces, allEncoded };
  }

  try {
    for (let chunk = await next(); chunk !== undefined; chunk = await next()) {
      if (!(await add(encoder.encode(chunk)))) return tooMany(false);
    }
    if (!(await add(encoder.end()))) return tooMany(true);
  } catch (error) {
    await file?.finish().close();
    throw error;
  }
  if (file !== undefined) return { kind: "in-file", file: file.finish() };
  return { kind: "in-memory", pieces, size };
}
