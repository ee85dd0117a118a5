/** How an engine runs statements. */
export type Explanation =
  | { readonly kind: "plans"; readonly plans: readonly StatementPlan[] }
  /** The statements cannot be analyzed, because not all that they change could be rolled back. Nothing ran. */
  | { readonly kind: "refused"; readonly reason: string };

/** The plan of one statement. Undefined if the engine has none; `reason` says why. */
export interface StatementPlan {
  readonly root: PlanNode | undefined;
  readonly reason: string | undefined;
  /** Milliseconds that it ran. */
  readonly ms: number | undefined;
}

/** An operator of a plan, for every engine. Undefined values are unknown. */
export interface PlanNode {
  /** As the engine calls it. */
  readonly operator: string;
  /** What the engine says about it, by name. */
  readonly detail: Readonly<Record<string, string>>;
  /** For a scan: the conditions that the file or the server applies while it is read, so that other rows are not transferred. */
  readonly filters: readonly string[];
  readonly estimatedRows: number | undefined;
  /** The rows that it returned. */
  readonly rows: number | undefined;
  /** Milliseconds of all threads, without those of its children. */
  readonly ms: number | undefined;
  readonly children: readonly PlanNode[];
}
