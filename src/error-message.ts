/** The message of any thrown value. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** An explanation, if there is one, and then the message that it explains. */
export function explained(explanation: string | undefined, message: string): string {
  return explanation === undefined ? message : `${explanation}; ${message}`;
}

/** The code of a system error, such as `ENOENT`; undefined if it has none. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error ? String(error.code) : undefined;
}
