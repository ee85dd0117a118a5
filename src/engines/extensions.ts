/** Creates a temporary folder with links to files (absolute paths), by their paths in the folder. Returns the folder. */
export type LinkFiles = (files: ReadonlyMap<string, string>) => Promise<string>;

/** An extension of the database that SQL needs. */
export interface NeededExtension {
  readonly name: string;
  /** Where it is downloaded from. Undefined: the database's own repository. */
  readonly repository: string | undefined;
}

/** Where an extension comes from. */
export type ExtensionPlace =
  | { readonly kind: "built-in" | "download" | "missing" }
  | { readonly kind: "extension-directory" | "default-folder"; readonly path: string };

export interface ExtensionOptions {
  readonly settings: ReadonlyMap<string, string>;
  readonly linkFiles: LinkFiles;
}
