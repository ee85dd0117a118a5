/** A word (in upper case, even if quoted) or symbol in a statement. Literals and comments are omitted. */
export interface Token {
  readonly kind: "word" | "symbol";
  readonly text: string;
  readonly at: number;
}
