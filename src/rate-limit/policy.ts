/** A rate-limit block that is on. */
export interface RateLimitPolicy {
  readonly max: number;
  readonly intervalSeconds: number;
  readonly key: "ip" | "user" | "user-or-ip";
  /** `redis://...`: processes count together. Without one each counts for itself. */
  readonly store: string | undefined;
}
