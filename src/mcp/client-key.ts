import { networkKey, shortKey } from "../auth/client-network.ts";

/** Whose streams, sessions and tasks are counted together: those of an identity, or without one those of an address. */
export function clientKey(owner: string, address: string): string {
  return owner === "" ? networkKey(address) : shortKey("identity", owner);
}

/**
 * What a message may take for as long as it is kept, as JSON text and as what was parsed of it. `[[],[],...]` takes the most: some
 * forty bytes for each three characters.
 */
export function messageBytes(text: string): number {
  return text.length * 16;
}
