/** Whether a host is this machine. Accepts an address or the host of a URL. */
export function isLoopback(host: string): boolean {
  return /^(?:127(?:\.\d{1,3}){3}|::1|\[::1\]|(?:.+\.)?localhost)$/i.test(host);
}
