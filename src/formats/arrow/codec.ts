import * as zlib from "node:zlib";

/** Compresses each buffer of a body separately. */
export interface Codec {
  /** Its CompressionType in Arrow's format/Message.fbs. */
  readonly number: number;
  /** Returns a complete LZ4 or Zstandard frame. */
  compress(bytes: Buffer): Uint8Array;
}

/** Loaders, by the name of the codec in `Accept`. Each runs when a client first requests its codec. */
const codecs: Readonly<Record<string, () => Promise<Codec>>> = { lz4: loadLz4, zstd: loadZstd };
const loading = new Map<string, Promise<void>>();
const loaded = new Map<string, Codec>();

export const codecNames: readonly string[] = Object.keys(codecs);

/** Loads a codec. Must be awaited before `preparedCodec`. */
export async function prepareCodec(name: string): Promise<void> {
  const load = codecs[name];
  if (load === undefined) throw new Error(`Arrow has no codec ${name}`);
  const pending = loading.get(name) ?? load().then((codec) => void loaded.set(name, codec));
  loading.set(name, pending);
  await pending;
}

export function preparedCodec(name: string): Codec {
  const codec = loaded.get(name);
  if (codec === undefined) throw new Error(`The codec ${name} has not been prepared`);
  return codec;
}

async function loadLz4(): Promise<Codec> {
  const { default: lz4 } = await import("lz4-napi");
  return { number: 0, compress: (bytes) => lz4.compressFrameSync(bytes) };
}

const ZSTD = 1;
/** The fastest level. Clients cannot request another. */
const LEVEL = 1;

/** Uses Node's own zstd (since 22.15) if available, otherwise WebAssembly, which is three times slower. */
async function loadZstd(): Promise<Codec> {
  // The type definitions are for Node 20, which has no zstd.
  const { zstdCompressSync, constants } = zlib as typeof zlib & {
    readonly zstdCompressSync?: (bytes: Buffer, options: { readonly params: Record<number, number> }) => Buffer;
    readonly constants: { readonly ZSTD_c_compressionLevel?: number };
  };
  if (zstdCompressSync !== undefined) {
    const params = { [constants.ZSTD_c_compressionLevel ?? 100]: LEVEL };
    return { number: ZSTD, compress: (bytes) => zstdCompressSync(bytes, { params }) };
  }
  const { default: zstd } = await import("@bokuweb/zstd-wasm");
  await zstd.init();
  return { number: ZSTD, compress: (bytes) => zstd.compress(bytes, LEVEL) };
}
