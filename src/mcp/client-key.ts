import { networkKey, shortKey } from "../auth/client-network.ts";
import type { McpRequest } from "./core.ts";

/** The key under which streams, sessions and tasks are counted: the identity, or the client's network if there is none. */
export function clientKey(owner: string, address: string): string {
  return owner === "" ? networkKey(address) : shortKey("identity", owner);
}

/**
 * An upper bound for the memory that a message takes, as JSON text and parsed. `[[],[],...]` takes the most: about fifty
 * bytes per three characters. The arguments of a long message are not parsed.
 */
export function messageBytes({ text, longArguments }: Pick<McpRequest, "text" | "longArguments">): number {
  let bytes = text.length * 20;
  for (const [name, value] of longArguments ?? []) bytes += ARGUMENT_BYTES + (name.length + value.text.length) * 4;
  return bytes;
}

const ARGUMENT_BYTES = 200;
