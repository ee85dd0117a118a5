import crypto from "node:crypto";
import type { WrittenResponse } from "../../calls/run-write.ts";
import { andThen, type Eventually } from "../../eventually.ts";
import type { RowFormat } from "../../formats/format.ts";
import { json } from "../../formats/json/json.ts";
import type { Compressor } from "./compressors.ts";
import type { CachedResponse, CachingRules, HeaderList } from "./headers.ts";

/** A successful response whose bytes are complete. Many requests may share one. */
export interface WholeResponse {
  readonly kind: "whole";
  /** Default: 200. */
  readonly status?: number;
  /** Without the headers that depend on the request or describe the body. */
  readonly headers: HeaderList;
  readonly contentType: string;
  /** A long body is in several pieces. */
  readonly body: readonly Uint8Array[];
  /** A copy of a short body, one character per byte (Latin-1). Node sends it with the headers, in one string. */
  readonly text?: string | undefined;
  readonly size: number;
  /** The ETag of these bytes, without quotes. Undefined: clients must not store the response. */
  readonly tag: string | undefined;
  /** The tag stands for the data: its rows may be in other bytes, such as Arrow batches of other sizes. */
  readonly hasWeakTag?: boolean;
  /** The compressed bodies so far. Undefined if compression is not worthwhile. */
  readonly compressedBodies: Map<Compressor, Promise<Uint8Array>> | undefined;
  readonly cached: CachedResponse | undefined;
  /** For observers, when the response is sent from the cache. */
  readonly rows?: number | undefined;
  readonly format?: string | undefined;
}

/** Smaller bodies fit in one packet anyway. */
const MIN_COMPRESSED_BYTES = 1024;
/** Hashing a longer body would take a tenth of its time and more. Its tag comes from the version of its data. */
const MAX_HASHED_BYTES = 256 * 1024;
/** 132 bits. */
const TAG_LENGTH = 22;
const MAX_JOINED_BYTES = 64 * 1024;
/** Strings take a tenth less CPU for a small response. From 4 KiB on, bytes are faster. */
const MAX_TEXT_BYTES = 1024;
const NOTHING = new Uint8Array(0);

export interface WholeOptions extends Pick<WholeResponse, "headers" | "cached"> {
  readonly format: RowFormat;
  /** A tag for the version of the data and the request. Undefined if the version is unknown. */
  readonly tagOfData: () => Promise<string | undefined>;
}

export function wholeResponse(
  pieces: readonly Uint8Array[],
  size: number,
  { headers, format, cached, tagOfData }: WholeOptions,
): Eventually<WholeResponse> {
  // One piece needs only one call to send.
  const body = pieces.length > 1 && size <= MAX_JOINED_BYTES ? [Buffer.concat(pieces, size)] : pieces;
  const isHashed = cached?.tag === undefined && size <= MAX_HASHED_BYTES;
  const tagging =
    cached?.tag ?? (isHashed ? tagOf(body.length === 1 ? (body[0] ?? NOTHING) : Buffer.concat(body)) : tagOfData());
  return andThen(tagging, (tag) => ({
    kind: "whole",
    headers,
    contentType: format.contentType,
    body,
    text: body.length === 1 && size <= MAX_TEXT_BYTES ? latin1(body[0] ?? NOTHING) : undefined,
    size,
    tag,
    hasWeakTag: cached?.tag === undefined && !isHashed,
    cached,
    compressedBodies: format.compressible && size > MIN_COMPRESSED_BYTES ? new Map() : undefined,
  }));
}

/** The response to a write. */
export function writtenResponse(
  { status, body }: Pick<WrittenResponse, "status" | "body">,
  { vary }: CachingRules,
): WholeResponse {
  const bytes = Buffer.from(body);
  return {
    kind: "whole",
    status,
    headers: ["Vary", vary, "Cache-Control", "no-store"],
    contentType: json.contentType,
    body: [bytes],
    size: bytes.length,
    tag: undefined,
    compressedBodies: undefined,
    cached: undefined,
  };
}

/** The body in a content coding. */
export function compressBody(
  { body, compressedBodies }: Pick<WholeResponse, "body" | "compressedBodies">,
  compressor: Compressor,
): Promise<Uint8Array> {
  const known = compressedBodies?.get(compressor);
  if (known !== undefined) return known;
  const compressing = compressor.compress(body.length === 1 ? (body[0] ?? NOTHING) : Buffer.concat(body));
  compressedBodies?.set(compressor, compressing);
  compressing.catch(() => compressedBodies?.delete(compressor));
  return compressing;
}

function latin1({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString("latin1");
}

/** A hash of these bytes, for an ETag. */
export function tagOf(bytes: Uint8Array): string {
  // `crypto.hash` was added in Node 20.12. It takes half the time for a short body.
  if (crypto.hash === undefined)
    return crypto.createHash("sha256").update(bytes).digest("base64url").slice(0, TAG_LENGTH);
  return crypto.hash("sha256", bytes, "base64url").slice(0, TAG_LENGTH);
}
