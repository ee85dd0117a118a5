import type { Identity } from "../auth/identity.ts";
import type { FieldError } from "../failure.ts";
import type { RawParams } from "../params/parameter.ts";
import type { CachedFrom } from "./cached-read.ts";
import type { Deadline } from "./deadline.ts";
import type { CallNotes } from "./observed-call.ts";

/** One call to an endpoint, from any surface. */
export interface Call {
  readonly raw: RawParams;
  /** Errors that the surface itself found. */
  readonly errors: readonly FieldError[];
  readonly identity: Identity;
  readonly deadline: Deadline;
  readonly observed: CallNotes;
  /** The client requests a cache refresh, and is allowed to. */
  readonly refresh?: boolean;
  /** Whether the client already has the rows of this snapshot. If so, none are read. */
  readonly clientHas?: (cached: CachedFrom) => boolean;
}
