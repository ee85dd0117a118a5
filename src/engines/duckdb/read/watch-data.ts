import type { Read } from "../../engine.ts";
import type { WatchedData } from "../../rows.ts";
import type { DependencyFinder } from "../plan/dependencies.ts";
import type { DataVersions } from "../session/data-versions.ts";
import { readKey } from "./read-key.ts";

interface WatchOptions {
  /** The moment before the read. */
  readonly moment: number;
  readonly versions: DataVersions;
  readonly dependencies: DependencyFinder;
  /** Identifies the engine, because the versions of another one begin at zero too. */
  readonly instance: string;
}

/** The data of a read. Undefined where Eider cannot know whether it changes. */
export async function watchData(
  read: Read,
  { moment, versions, dependencies, instance }: WatchOptions,
): Promise<WatchedData | undefined> {
  const { statements, totalOf } = read;
  // Leading statements may create temporary tables or variables, which are not tracked.
  if (statements.length > 1) return undefined;
  const tables: string[] = [];
  for (const statement of new Set([...statements, ...(totalOf ?? [])])) {
    const found = await dependencies.of(statement);
    if (found.tables === undefined) return undefined;
    tables.push(...found.tables);
  }
  return {
    version: `${instance}\n${readKey(read, versions.lastChange(tables))}`,
    isUnchanged: () => versions.unchangedSince(moment, tables),
  };
}
