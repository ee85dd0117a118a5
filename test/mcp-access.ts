import { anonymous, identityOf } from "../src/auth/identity.ts";
import type { McpAccess, McpAccessRequest } from "../src/mcp/mcp-service.ts";

/** Accepts any user name as a token, such as `Bearer ann`. Without one, a client may only use the methods in `open`. */
export function accessByName(
  open: readonly string[] = [],
): McpAccess & { readonly asked: readonly McpAccessRequest[] } {
  const asked: McpAccessRequest[] = [];
  return {
    asked,
    admit(request) {
      asked.push(request);
      const username = /^Bearer (\w+)$/.exec(request.authorization ?? "")?.[1];
      if (username !== undefined) return { kind: "identity", identity: identityOf({ type: "bearer", username }) };
      if (open.includes(request.method) && request.authorization === undefined) {
        return { kind: "identity", identity: anonymous };
      }
      const challenges = ['Bearer realm="eider"', 'Basic realm="eider"'];
      return { kind: "refused", failure: { kind: "unauthorized", scheme: "bearer" }, challenges };
    },
  };
}

/** The header with which `namedGate` accepts a user. */
export const asUser = (name: string) => ({ Authorization: `Bearer ${name}` });
