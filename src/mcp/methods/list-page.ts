import type { Method } from "../core.ts";
import type { ListKind } from "../mcp-service.ts";
import { invalidParams } from "../protocol.ts";

/** A method that lists, page by page. */
export function listMethod(name: string, kind: ListKind): Method {
  return {
    name,
    eras: ["legacy", "modern"],
    run({ era, params: { cursor }, state }) {
      const page = cursor === undefined || typeof cursor === "string" ? state.lists.page(kind, era, cursor) : undefined;
      if (page === undefined) throw invalidParams("Invalid cursor");
      return page;
    },
  };
}
