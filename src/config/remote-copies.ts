import { engine } from "../engines/index.ts";
import type { RemoteFiles, RemoteListing, RemoteText } from "../engines/remote-files.ts";
import { errorMessage } from "../error-message.ts";
import { openSpool, type Spool } from "../spool/spool.ts";
import type { CurrentProcess } from "../spool/sweep.ts";
import { initOf } from "./connection-init.ts";
import type { RemoteCopies } from "./files.ts";
import type { MainConfig } from "./project.ts";

/** The remote files of a project. A pass that misses some is repeated once they are read. */
export interface FetchedCopies extends RemoteCopies {
  /** Reads everything that was looked up but missing. Returns false if nothing was. */
  fetch(main: MainConfig): Promise<boolean>;
  close(): void;
}

export interface TemporaryFiles {
  /** The system's folder for temporary files, unless the project sets one. */
  readonly temporary: string;
  readonly self: CurrentProcess;
}

const CONCURRENT_READS = 4;

export function openRemoteCopies(temporaryFiles: TemporaryFiles | undefined): FetchedCopies {
  const texts = new Map<string, RemoteText | undefined>();
  const listings = new Map<string, RemoteListing | undefined>();
  let files: Promise<RemoteFiles> | undefined;

  function lookUp<T>(copies: Map<string, T | undefined>, address: string): T | undefined {
    const copy = copies.get(address);
    // Undefined marks the address for the next `fetch`.
    copies.set(address, copy);
    return copy;
  }

  return {
    text: (address) => lookUp(texts, address),
    listing: (folder) => lookUp(listings, folder),
    async fetch(main) {
      const missing = [
        ...missingIn(texts, (remote, address) => remote.read(address)),
        ...missingIn(listings, (remote, folder) => remote.list(folder)),
      ];
      if (missing.length === 0) return false;
      files ??= openRemoteFiles(main, temporaryFiles);
      const remote = await files;
      const work = async (): Promise<void> => {
        for (let next = missing.shift(); next !== undefined; next = missing.shift()) await next(remote);
      };
      await Promise.all(Array.from({ length: CONCURRENT_READS }, work));
      return true;
    },
    close() {
      void files?.then((remote) => remote.close());
    },
  };
}

function missingIn<T>(
  copies: Map<string, T | undefined>,
  read: (remote: RemoteFiles, address: string) => Promise<T>,
): ((remote: RemoteFiles) => Promise<void>)[] {
  return [...copies].flatMap(([address, copy]) =>
    copy === undefined ? async (remote: RemoteFiles) => void copies.set(address, await read(remote, address)) : [],
  );
}

/** If the database cannot be opened, every read returns its error. */
async function openRemoteFiles(
  { duckdb, connections }: MainConfig,
  temporaryFiles: TemporaryFiles | undefined,
): Promise<RemoteFiles> {
  const spool = temporaryFiles && openProjectSpool(duckdb.settings, temporaryFiles);
  const definitions = [...connections.values()].map((connection) => ({
    name: connection.name,
    init: initOf(connection),
    secrets: connection.secrets,
  }));
  const opening = { settings: duckdb.settings, connections: definitions, linkFiles: spool?.linkFiles };
  const files = await engine.openRemoteFiles(opening).catch((error: unknown): RemoteFiles => {
    const failure = { kind: "unreadable", reason: errorMessage(error) } as const;
    return { read: async () => failure, list: async () => failure, close() {} };
  });
  return {
    ...files,
    close() {
      files.close();
      void spool?.close();
    },
  };
}

/** Temporary files go where the project's database puts its own. */
export function openProjectSpool(
  settings: MainConfig["duckdb"]["settings"],
  { temporary, self }: TemporaryFiles,
): Spool {
  return openSpool({ parent: settings.get("temp_directory") || temporary, self });
}
