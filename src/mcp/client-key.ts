import { networkKey, shortKey } from "../auth/client-network.ts";
import type { McpRequest } from "./core.ts";

/** Streams, sessions and tasks are counted per identity, or per address without one. */
export function clientKey(owner: string, address: string): string {
  return owner === "" ? networkKey(address) : shortKey("identity", owner);
}

/**
 * An upper bound for the memory of a message, as JSON text and parsed. `[[],[],...]` takes the most: about fifty bytes per
 * three characters. Arguments of a long message are not parsed.
 */
export function messageBytes({ text, longArguments }: Pick<McpRequest, "text" | "longArguments">): number {
  let bytes = text.length * 20;
  for (const [name, value] of longArguments ?? []) bytes += ARGUMENT_BYTES + (name.length + value.text.length) * 4;
  return bytes;
}

const ARGUMENT_BYTES = 200;
