import { networkKey, shortKey } from "../auth/client-network.ts";
import type { McpRequest } from "./core.ts";

/** Whose streams, sessions and tasks are counted together: those of an identity, or without one those of an address. */
export function clientKey(owner: string, address: string): string {
  return owner === "" ? networkKey(address) : shortKey("identity", owner);
}

/**
 * What a message may take for as long as it is kept, as JSON text and as what was parsed of it. `[[],[],...]` takes the most: some
 * fifty bytes for each three characters. Arguments of a long message are not parsed.
 */
export function messageBytes({ text, longArguments }: Pick<McpRequest, "text" | "longArguments">): number {
  let bytes = text.length * 20;
  for (const [name, value] of longArguments ?? []) bytes += ARGUMENT_BYTES + (name.length + value.text.length) * 4;
  return bytes;
}

const ARGUMENT_BYTES = 200;
