import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

const require = createRequire(import.meta.url);
const compiler = join(dirname(require.resolve("typescript/package.json")), "bin/tsc");
const nodeTypes = join(dirname(require.resolve("@types/node/package.json")), "..");

/** The strictest options that a project can use. */
const STRICT = [
  ..."strict exactOptionalPropertyTypes noUncheckedIndexedAccess noImplicitOverride noImplicitReturns".split(" "),
  ..."noFallthroughCasesInSwitch noPropertyAccessFromIndexSignature noUnusedLocals noUnusedParameters".split(" "),
  ..."verbatimModuleSyntax erasableSyntaxOnly isolatedModules rewriteRelativeImportExtensions".split(" "),
].map((option) => `--${option}`);

/** The environments in which a client runs. Both have `fetch`, with different types. */
const ENVIRONMENTS = {
  browser: ["--lib", "es2022,dom,dom.asynciterable", "--types", ""],
  node: ["--lib", "es2022", "--types", "node", "--typeRoots", nodeTypes],
} as const;

export interface CompiledClient extends AsyncDisposable {
  /** The output of the compiler. Empty if there are no errors. */
  readonly output: string;
  /** Imports the compiled client, or another file by its name. */
  load(name?: string): Promise<ClientModule>;
}

/** A method of a client, without its specific types. */
export interface LooseMethod {
  (params?: object, options?: object): Promise<unknown>;
  isError(error: unknown): boolean;
  pages(params?: object, options?: object): AsyncIterable<unknown>;
  all(params?: object, options?: object): AsyncIterable<unknown>;
}

export interface ClientModule {
  createClient(options: object): Readonly<Record<string, LooseMethod>>;
  readonly EiderError: new (...args: never[]) => Error & { failure: unknown; status: unknown; requestId: unknown };
}

interface CompileOptions {
  readonly place: keyof typeof ENVIRONMENTS;
  readonly program?: string;
  /** Further clients by name, compiled in the same run. */
  readonly beside?: Readonly<Record<string, string>>;
}

/** Compiles a generated client, and a program that uses it as `./client.ts`. */
export async function compileClient(
  text: string,
  { place, program = "", beside = {} }: CompileOptions,
): Promise<CompiledClient> {
  const folder = await mkdtemp(join(tmpdir(), "eider-client-"));
  await writeFile(join(folder, "package.json"), '{"type":"module"}');
  const files = { client: text, program, ...beside };
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, `${name}.ts`), content);
  const target = ["--target", "es2022", "--module", "esnext", "--moduleResolution", "bundler"];
  const args = [
    "--ignoreConfig",
    ...STRICT,
    ...target,
    ...ENVIRONMENTS[place],
    ...Object.keys(files).map((name) => `${name}.ts`),
  ];
  const output = await new Promise<string>((done) => {
    execFile(process.execPath, [compiler, ...args], { cwd: folder }, (_, stdout, stderr) => done(stdout + stderr));
  });
  return {
    output,
    // The compiler cannot check an import by a computed path.
    load: (name = "client") => import(pathToFileURL(join(folder, `${name}.js`)).href) as Promise<ClientModule>,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}
