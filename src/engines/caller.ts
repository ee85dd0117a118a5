/** Who makes a call, for databases that decide by it which rows a query may use. */
export interface Caller {
  readonly username: string | undefined;
  readonly email: string | undefined;
  readonly roles: readonly string[];
  readonly groups: readonly string[];
}
