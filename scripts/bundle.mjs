// The program as a few files: Node takes longer to load six hundred modules than to do the rest of a start.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const root = new URL("../", import.meta.url);
const { dependencies } = JSON.parse(readFileSync(new URL("package.json", root), "utf8"));
/** Read at every start, and made of many files themselves. What else is needed is loaded when it is, as it was published. */
const INLINED = ["zod", "yaml", "mustache", "re2js"];
const external = Object.keys(dependencies).filter((name) => !INLINED.includes(name));

const bundle = await rolldown({
  input: fileURLToPath(new URL("dist/main.js", root)),
  platform: "node",
  external: (id) => id.startsWith("node:") || external.some((name) => id === name || id.startsWith(`${name}/`)),
});
await bundle.write({ dir: fileURLToPath(new URL("dist/program", root)), format: "esm", minify: false });
await bundle.close();
