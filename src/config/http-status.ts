import type { OperationConfig, WriteStatuses } from "./project.ts";
import type { Reporter } from "./reporter.ts";
import type { Method } from "./schema/endpoint.ts";
import type { HttpStatusInput, OwnHttpStatusInput } from "./schema/http-status.ts";

interface StatusContext {
  readonly kind: OperationConfig["kind"];
  readonly method: Method;
  readonly reporter: Reporter;
}

const KEY = ["operation", "http-status"] as const;

/** The statuses of an endpoint. Its own keys override those of the main file. */
export function compileStatuses(
  own: OwnHttpStatusInput | undefined,
  inherited: HttpStatusInput,
  { kind, method, reporter }: StatusContext,
): WriteStatuses {
  const creates = method === "POST";
  const changes = method === "PUT" || method === "PATCH" || method === "DELETE";
  if (own !== undefined && kind === "read") {
    reporter.keyError(KEY, "only writes have these statuses; set operation.type: Write, or remove it");
  } else {
    if (own?.created === "201" && !creates) {
      reporter.warning([...KEY, "created"], `only POST returns 201, and this is ${method}; remove it`);
    }
    if (own?.["nothing-changed"] === "404" && !changes) {
      const message = `only PUT, PATCH and DELETE return 404, and this is ${method}; remove it`;
      reporter.warning([...KEY, "nothing-changed"], message);
    }
  }
  return {
    constraintFailure: own?.["constraint-failure"] ?? inherited["constraint-failure"],
    changed: creates && (own?.created ?? inherited.created) === "201" ? 201 : 200,
    unchanged: changes && (own?.["nothing-changed"] ?? inherited["nothing-changed"]) === "404" ? 404 : 200,
  };
}
