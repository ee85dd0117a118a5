import { anonymous, identityOf } from "../src/auth/identity.ts";
import type { McpAccess, McpAccessRequest } from "../src/mcp/mcp-service.ts";

/** Accepts any client that names itself, `Bearer ann`; others may only use open methods. */
export function namedGate(open: readonly string[] = []): McpAccess & { readonly asked: readonly McpAccessRequest[] } {
  const asked: McpAccessRequest[] = [];
  return {
    asked,
    admit(question) {
      asked.push(question);
      const username = /^Bearer (\w+)$/.exec(question.authorization ?? "")?.[1];
      if (username !== undefined) return { kind: "identity", identity: identityOf({ type: "bearer", username }) };
      if (open.includes(question.method) && question.authorization === undefined) {
        return { kind: "identity", identity: anonymous };
      }
      const challenges = ['Bearer realm="eider"', 'Basic realm="eider"'];
      return { kind: "refused", failure: { kind: "unauthorized", scheme: "bearer" }, challenges };
    },
  };
}

/** The header of somebody whom `namedGate` knows. */
export const as = (name: string) => ({ Authorization: `Bearer ${name}` });
