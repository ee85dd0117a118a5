/** All addresses of a machine are none that a client could ask. */
const EVERY_ADDRESS: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

/** By which clients on this machine find a listener. */
export function addressAt({ host, port }: { readonly host: string; readonly port: number }, isSecure: boolean): string {
  const name = EVERY_ADDRESS.has(host) ? "127.0.0.1" : host.includes(":") ? `[${host}]` : host;
  return `${isSecure ? "https" : "http"}://${name}:${port}`;
}
