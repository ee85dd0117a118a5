import { quoteIdentifier } from "../../../sql/quote.ts";

export interface DatabaseSwap {
  readonly alias: string;
  /** The name that the old database gets. */
  readonly retiredAs: string;
  readonly run: (sql: string) => Promise<unknown>;
}

/** The suffix of a database that is attached, but not used yet. */
export const NEXT_SUFFIX = "~next";

/** Gives the name of a database to the one that is attached as `<alias>~next`. If that fails, everything is as before, without the new one. */
export async function swapDatabase({ alias, retiredAs, run }: DatabaseSwap): Promise<void> {
  const [name, next, old] = [alias, `${alias}${NEXT_SUFFIX}`, retiredAs].map(quoteIdentifier);
  try {
    await run(`ALTER DATABASE ${name} SET ALIAS TO ${old}`);
    await run(`ALTER DATABASE ${next} SET ALIAS TO ${name}`).catch(async (error: unknown) => {
      await run(`ALTER DATABASE ${old} SET ALIAS TO ${name}`);
      throw error;
    });
  } catch (error) {
    await run(`DETACH ${next}`);
    throw error;
  }
}
