import crypto from "node:crypto";
import type { RowFormat } from "../../formats/format.ts";
import { json } from "../../formats/json/json.ts";
import type { Compressor } from "./compressors.ts";
import type { CachedResponse, CachingRules, HeaderList } from "./headers.ts";
import { openLongTag } from "./long-tag.ts";

/** A successful answer whose bytes are all there. It is the same for whoever asks, so many requests may share one. */
export interface WholeResponse {
  readonly kind: "whole";
  /** Without what depends on who asks, and without those of the body. */
  readonly headers: HeaderList;
  readonly contentType: string;
  /** In pieces where they are many: nobody needs them in one. */
  readonly body: readonly Uint8Array[];
  /** A short body once more, a character for each byte (Latin-1): Node sends it with the head, as one text. */
  readonly text?: string | undefined;
  readonly size: number;
  /** Names exactly these bytes; an ETag without its quotes. Undefined: the response is not stored. */
  readonly tag: string | undefined;
  /** The body as it was packed so far, each way once. Absent: compression is not of use. */
  readonly packed: Map<Compressor, Promise<Uint8Array>> | undefined;
  readonly cached: CachedResponse | undefined;
  /** What observers report of it, should it be sent again. */
  readonly rows?: number | undefined;
  readonly format?: string | undefined;
}

/** Smaller ones travel in one packet anyway. decisions.md 5. */
const WORTH_PACKING_BYTES = 1024;
/** What is longer gets a tag that costs a fifth. */
const HASHED_BYTES = 256 * 1024;
/** 132 bits. */
const TAG_LENGTH = 22;
const WORTH_JOINING_BYTES = 64 * 1024;
/** A tenth less CPU for a bare answer; from 4 KiB on, bytes are faster. */
const SENT_AS_TEXT_BYTES = 1024;
const NOTHING = new Uint8Array(0);

export async function wholeResponse(
  pieces: readonly Uint8Array[],
  size: number,
  { headers, format, cached }: Pick<WholeResponse, "headers" | "cached"> & { readonly format: RowFormat },
): Promise<WholeResponse> {
  // A short body goes out with one call when it is one piece.
  const body = pieces.length > 1 && size <= WORTH_JOINING_BYTES ? [Buffer.concat(pieces, size)] : pieces;
  return {
    kind: "whole",
    headers,
    contentType: format.contentType,
    body,
    text: body.length === 1 && size <= SENT_AS_TEXT_BYTES ? latin1(body[0] ?? NOTHING) : undefined,
    size,
    tag: cached?.tag ?? (await tagOfBody(body, size)),
    cached,
    packed: format.compressible && size > WORTH_PACKING_BYTES ? new Map() : undefined,
  };
}

/** The response to a write. */
export function writtenResponse(body: string, { vary }: CachingRules): WholeResponse {
  const bytes = Buffer.from(body);
  return {
    kind: "whole",
    headers: ["Vary", vary, "Cache-Control", "no-store"],
    contentType: json.contentType,
    body: [bytes],
    size: bytes.length,
    tag: undefined,
    packed: undefined,
    cached: undefined,
  };
}

/** The body in a content coding. */
export function packBody(
  { body, packed }: Pick<WholeResponse, "body" | "packed">,
  compressor: Compressor,
): Promise<Uint8Array> {
  const known = packed?.get(compressor);
  if (known !== undefined) return known;
  const packing = compressor.pack(body.length === 1 ? (body[0] ?? NOTHING) : Buffer.concat(body));
  packed?.set(compressor, packing);
  packing.catch(() => packed?.delete(compressor));
  return packing;
}

function latin1({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString("latin1");
}

function tagOfBody(body: readonly Uint8Array[], size: number): string | Promise<string> {
  if (size > HASHED_BYTES) return longTagOf(body);
  return tagOf(body.length === 1 ? (body[0] ?? NOTHING) : Buffer.concat(body));
}

/** Names exactly these bytes. */
export function tagOf(bytes: Uint8Array): string {
  // Came with Node 20.12, and takes half the time for a short body.
  if (crypto.hash === undefined)
    return crypto.createHash("sha256").update(bytes).digest("base64url").slice(0, TAG_LENGTH);
  return crypto.hash("sha256", bytes, "base64url").slice(0, TAG_LENGTH);
}

async function longTagOf(pieces: readonly Uint8Array[]): Promise<string> {
  const tag = openLongTag();
  for (const piece of pieces) await tag.add(piece);
  return tag.end();
}
