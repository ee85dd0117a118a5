import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

export interface ProjectFolder extends Disposable {
  readonly path: string;
}

/** A temporary folder with these files. It is deleted when it is disposed. */
export function projectFolder(files: Readonly<Record<string, string | Uint8Array>>): ProjectFolder {
  const path = mkdtempSync(join(tmpdir(), "eider-"));
  for (const [name, content] of Object.entries(files)) {
    const file = join(path, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}
