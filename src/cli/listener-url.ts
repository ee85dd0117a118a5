/** On these hosts, a listener accepts connections to every address of the machine. Clients cannot connect to them. */
const WILDCARD_HOSTS: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  readonly isSecure: boolean;
}

/** The URL of a listener. If it listens on a wildcard host, the URL contains `wildcardName` instead. */
export function listenerUrl({ host, port, isSecure }: ListenAddress, wildcardName: string): string {
  const name = WILDCARD_HOSTS.has(host) ? wildcardName : host.includes(":") ? `[${host}]` : host;
  return `${isSecure ? "https" : "http"}://${name}:${port}`;
}
