import type { Identity } from "../auth/identity.ts";
import type { Page } from "../params/page.ts";
import type { Params, ParamValue } from "../params/parameter.ts";
import type { Lookup } from "../sql/render.ts";

/** Looks up the values of a call. `params.limit` and `params.offset` come from the page; without one, they are not set. */
export function lookupOf(params: Params, page: Page | undefined, identity: Identity): Lookup {
  return ({ scope, name }) => {
    if (scope === "auth") return identity.get(name);
    if (name === "limit") return page?.limit === undefined ? undefined : integerValue(page.limit);
    if (name === "offset") return page?.limit === undefined && !page?.offset ? undefined : integerValue(page.offset);
    return params.get(name);
  };
}

function integerValue(value: number): ParamValue {
  return { text: String(value), type: "BIGINT", value: BigInt(value) };
}
