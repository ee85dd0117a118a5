/** What a write may be allowed to do besides changing data: the values of `operation.allow`. */
export const permissions = ["attach", "checkpoint", "copy", "load", "secret", "set"] as const;
export type Permission = (typeof permissions)[number];

/** Something that a statement does to the machine or the service, beyond reading or changing data. */
export interface PrivilegedAction {
  /** `install` and `environment` are never allowed. */
  readonly permission: Permission | "install" | "environment";
  /** A statement in upper case, or the name of a function in lower case. */
  readonly what: string;
  /** Its index in the statement. */
  readonly at: number;
}
