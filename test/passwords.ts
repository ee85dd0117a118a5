import { deriveKey } from "../src/auth/password.ts";

const SALT = Buffer.from("a salt of tests!");
const ITERATIONS = 1000;

/** A hash that is quick to verify. Those of `hashPassword` take half a second each. */
export async function quickHash(password: string): Promise<string> {
  const key = await deriveKey({ password, salt: SALT, iterations: ITERATIONS, bytes: 32 });
  return `$pbkdf2-sha256$${ITERATIONS}$${SALT.toString("base64url")}$${key.toString("base64url")}`;
}
