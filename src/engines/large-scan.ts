/** A large table of a database server that a query reads as a whole, because the engine processes its rows itself. */
export interface LargeScan {
  /** The kind of the server, as in messages. */
  readonly server: string;
  readonly table: string;
  /** As estimated. */
  readonly rows: number;
  /** What the engine does with the rows, after "the engine". */
  readonly cause: string;
}
