// Bundles the program into one script, because loading six hundred modules takes Node longer than the rest of startup.
import { readFileSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const root = new URL("../", import.meta.url);
const { dependencies } = JSON.parse(readFileSync(new URL("package.json", root), "utf8"));
/** Packages of many files that every start loads. All other packages are loaded on demand, from node_modules. */
const INLINED = ["zod", "yaml", "mustache", "re2js"];
const external = Object.keys(dependencies).filter((name) => !INLINED.includes(name));
const folder = new URL("dist/program/", root);

/** Node.js 20 cannot run `import()` in a script that V8 loaded from its code cache, so bin/load-program.cjs runs it. */
const passedImports = {
  name: "passed-imports",
  renderChunk(code, { dynamicImports }) {
    const passed = new Set();
    const changed = code.replace(/\bimport\("([^"]+)"\)/g, (_, name) => {
      passed.add(name);
      return `importModule("${name}")`;
    });
    const missed = dynamicImports.filter((name) => !passed.has(name));
    if (missed.length > 0 || passed.size === 0) throw new Error(`import() was not found: ${missed.join(", ")}`);
    return changed;
  },
};

rmSync(folder, { recursive: true, force: true });
const bundle = await rolldown({
  input: fileURLToPath(new URL("dist/main.js", root)),
  platform: "node",
  external: (id) => id.startsWith("node:") || external.some((name) => id === name || id.startsWith(`${name}/`)),
});
await bundle.write({
  file: fileURLToPath(new URL("main.cjs", folder)),
  format: "cjs",
  minify: false,
  comments: { legal: true, annotation: false, jsdoc: false },
  // bin/load-program.cjs reads it as ASCII, and calls it as Node.js calls a CommonJS module.
  charset: "ascii",
  banner: "(function (exports, require, module, __filename, __dirname, importModule) {",
  footer: "})",
  plugins: [passedImports],
});
await bundle.close();
if (readFileSync(new URL("main.cjs", folder)).some((byte) => byte > 0x7f)) throw new Error("main.cjs is not ASCII");
