/** An enabled `rate-limit` block. */
export interface RateLimitPolicy {
  readonly max: number;
  readonly intervalSeconds: number;
  readonly key: "ip" | "user" | "user-or-ip";
  /** A `redis://` URL, to count across processes. Without it, each process counts separately. */
  readonly store: string | undefined;
}
