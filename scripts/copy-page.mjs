// What is served or copied as it was written: nothing of it is compiled.
import { cpSync, rmSync } from "node:fs";

for (const folder of ["docs-page", "client/runtime"]) {
  const [from, to] = [`src/${folder}`, `dist/${folder}`].map((path) => new URL(`../${path}`, import.meta.url));
  rmSync(to, { recursive: true, force: true });
  cpSync(from, to, { recursive: true, filter: (path) => !path.endsWith(".test.ts") });
}
