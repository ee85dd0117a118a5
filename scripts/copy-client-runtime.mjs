// Copies the runtime of generated clients as source files, because it is not compiled.
import { cpSync, rmSync } from "node:fs";

const [from, to] = ["src", "dist"].map((folder) => new URL(`../${folder}/client/runtime`, import.meta.url));
rmSync(to, { recursive: true, force: true });
cpSync(from, to, { recursive: true, filter: (path) => !path.endsWith(".test.ts") });
