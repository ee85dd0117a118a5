// The page at /docs is served as it was written: nothing is compiled.
import { cpSync, rmSync } from "node:fs";

const [from, to] = ["src/docs-page", "dist/docs-page"].map((path) => new URL(`../${path}`, import.meta.url));
rmSync(to, { recursive: true, force: true });
cpSync(from, to, { recursive: true, filter: (path) => !path.endsWith(".test.ts") });
