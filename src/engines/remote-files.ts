/** The text of a file at a URL, or why it cannot be read. */
export type RemoteText =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "absent" }
  /** The reason holds no secrets. */
  | { readonly kind: "unreadable"; readonly reason: string };

/** The URLs of all files in a folder and its subfolders, or why they cannot be listed. */
export type RemoteListing =
  | { readonly kind: "files"; readonly files: readonly string[] }
  | Exclude<RemoteText, { readonly kind: "text" }>;

/** Reads small files at URLs, within limits of size and time. */
export interface RemoteFiles {
  read(address: string): Promise<RemoteText>;
  list(folder: string): Promise<RemoteListing>;
  close(): void;
}
