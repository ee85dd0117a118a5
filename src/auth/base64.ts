/** Letters of the standard and of the URL-safe alphabet. With padding or without; a part of a byte is too little. */
const SHAPE = /^(?:[\w+/-]{4})*(?:[\w+/-]{2}(?:==)?|[\w+/-]{3}=?)?$/;

/** The same, and the bits that belong to no byte are zero: then no two texts mean the same bytes in one alphabet. */
const EXACT = /^(?:[\w+/-]{4})*(?:[\w+/-][AQgw](?:==)?|[\w+/-]{2}[AEIMQUYcgkosw048]=?)?$/;

/** Bytes of base64 in either alphabet, padded or not; nothing when it is something else. */
export function decodeBase64(text: string): Buffer | undefined {
  // Without this test Buffer would skip what it does not know.
  return SHAPE.test(text) ? Buffer.from(text, "base64") : undefined;
}

/** Like `decodeBase64`, for what others send: only what an encoder writes. */
export function decodeExactBase64(text: string): Buffer | undefined {
  return EXACT.test(text) ? Buffer.from(text, "base64") : undefined;
}
