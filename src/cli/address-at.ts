/** All addresses of a machine are none that a client could ask. */
const EVERY_ADDRESS: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

export interface ListeningAt {
  readonly host: string;
  readonly port: number;
  readonly isSecure: boolean;
}

/** By which clients find a listener; `everywhere` is what one that listens on all addresses is called. */
export function addressAt({ host, port, isSecure }: ListeningAt, everywhere: string): string {
  const name = EVERY_ADDRESS.has(host) ? everywhere : host.includes(":") ? `[${host}]` : host;
  return `${isSecure ? "https" : "http"}://${name}:${port}`;
}
