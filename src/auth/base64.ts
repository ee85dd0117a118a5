/** The standard or the URL-safe alphabet, with or without padding, and no incomplete byte. */
const SHAPE = /^(?:[\w+/-]{4})*(?:[\w+/-]{2}(?:==)?|[\w+/-]{3}=?)?$/;

/** The same, but unused bits must be zero, so that each value has only one spelling per alphabet. */
const EXACT = /^(?:[\w+/-]{4})*(?:[\w+/-][AQgw](?:==)?|[\w+/-]{2}[AEIMQUYcgkosw048]=?)?$/;

/** Undefined if the string is not base64. */
export function decodeBase64(text: string): Buffer | undefined {
  // Without this test, Buffer would skip invalid characters.
  return SHAPE.test(text) ? Buffer.from(text, "base64") : undefined;
}

/** Like `decodeBase64`, but accepts only the canonical encoding. For input from clients. */
export function decodeExactBase64(text: string): Buffer | undefined {
  return EXACT.test(text) ? Buffer.from(text, "base64") : undefined;
}
