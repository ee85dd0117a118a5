// Bundles the program into a few files, because loading six hundred modules takes Node longer than the rest of startup.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const root = new URL("../", import.meta.url);
const { dependencies } = JSON.parse(readFileSync(new URL("package.json", root), "utf8"));
/** Packages of many files that every start loads. All other packages are loaded on demand, from node_modules. */
const INLINED = ["zod", "yaml", "mustache", "re2js"];
const external = Object.keys(dependencies).filter((name) => !INLINED.includes(name));

const bundle = await rolldown({
  input: fileURLToPath(new URL("dist/main.js", root)),
  platform: "node",
  external: (id) => id.startsWith("node:") || external.some((name) => id === name || id.startsWith(`${name}/`)),
});
await bundle.write({ dir: fileURLToPath(new URL("dist/program", root)), format: "esm", minify: false });
await bundle.close();
