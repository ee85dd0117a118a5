import { isLoopback } from "./loopback.ts";

/** Whether a path is a URL, such as `s3://...`. */
export function isRemote(path: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(path);
}

/** A security warning about a URL that others on the network can read and change. Undefined for other paths. */
export function insecureAddressWarning(path: string): string | undefined {
  const [, host = ""] = /^http:\/\/(?:[^/?#]*@)?(\[[^\]]*\]|[^/?#:]*)/i.exec(path) ?? [];
  if (host === "" || isLoopback(host)) return undefined;
  return "plain http lets an attacker on the network change the SQL; use https://";
}

/** Whether the files below a URL can be listed. Web servers have no common way to do that. */
export function canBeListed(address: string): boolean {
  return !/^https?:/i.test(address);
}

/** The URL of a file below a folder URL, with the same query. Undefined if the name leads outside the folder. */
export function addressBelow(folder: string, name: string): string | undefined {
  const steps: string[] = [];
  for (const step of name.split("/")) {
    if (step === ".." && steps.pop() === undefined) return undefined;
    if (step !== ".." && step !== "." && step !== "") steps.push(step);
  }
  const [, base = "", query = ""] = /^([^?#]*)(.*)$/s.exec(folder) ?? [];
  const path = canBeListed(folder) ? steps : steps.map(encodeURIComponent);
  return `${base.replace(/\/+$/, "")}/${path.join("/")}${query}`;
}

/** The URL of the folder of a file. */
export function parentOf(address: string): string {
  const [, base = "", query = ""] = /^([^?#]*)\/[^/?#]*(.*)$/s.exec(address) ?? [];
  return base + query;
}
