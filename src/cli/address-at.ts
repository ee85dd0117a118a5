/** Clients cannot use these addresses, on which a listener accepts connections to any address of the machine. */
const EVERY_ADDRESS: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

export interface ListeningAt {
  readonly host: string;
  readonly port: number;
  readonly isSecure: boolean;
}

/** The URL of a listener. `everywhere` is the host name to use if it listens on all addresses. */
export function addressAt({ host, port, isSecure }: ListeningAt, everywhere: string): string {
  const name = EVERY_ADDRESS.has(host) ? everywhere : host.includes(":") ? `[${host}]` : host;
  return `${isSecure ? "https" : "http"}://${name}:${port}`;
}
