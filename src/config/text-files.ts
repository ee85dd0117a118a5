import { basename, isAbsolute, relative, sep } from "node:path";
import type { Files } from "./files.ts";

/** The text of files that need not exist on disk, by absolute path. */
export type Texts = ReadonlyMap<string, string>;

/** The files on disk and the given ones, which take precedence. */
export function withTexts(texts: Texts, disk: Files): Files {
  return {
    ...disk,
    read(file) {
      const text = texts.get(file);
      return text === undefined ? disk.read(file) : { ok: true, text };
    },
    list(folder, wanted) {
      const listing = disk.list(folder, wanted);
      if (listing?.ok !== true) return listing;
      return { ok: true, files: [...new Set([...listing.files, ...textsIn(texts, folder, wanted)])].sort() };
    },
    containment(file, folders) {
      if (!texts.has(file)) return disk.containment(file, folders);
      return folders.some((folder) => isBelow(file, folder)) ? "inside" : "outside";
    },
  };
}

/** Only the given files, as if there were no others. */
export function onlyTexts(texts: Texts, disk: Files): Files {
  return withTexts(texts, {
    ...disk,
    read: () => ({ ok: false, why: { kind: "absent" } }),
    list: () => ({ ok: true, files: [] }),
    containment: () => "absent",
    requestedFiles: () => [],
  });
}

function textsIn(texts: Texts, folder: string, wanted: (name: string) => boolean): readonly string[] {
  return [...texts.keys()].filter((file) => isBelow(file, folder) && wanted(basename(file)));
}

/** Both paths are absolute. */
function isBelow(file: string, folder: string): boolean {
  const path = relative(folder, file);
  return !isAbsolute(path) && path.split(sep)[0] !== "..";
}
