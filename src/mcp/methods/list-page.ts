import type { Method } from "../core.ts";
import type { ListKind } from "../mcp-service.ts";
import { invalidParams } from "../protocol.ts";

/** A method that returns a list, in pages. */
export function listMethod(name: string, kind: ListKind): Method {
  return {
    name,
    protocols: ["legacy", "modern"],
    run({ protocol, params: { cursor }, state }) {
      const page =
        cursor === undefined || typeof cursor === "string" ? state.lists.page(kind, protocol, cursor) : undefined;
      if (page === undefined) throw invalidParams("Invalid cursor");
      return page;
    },
  };
}
