import { type Directive, maskDirectives } from "./directives.ts";
import type { Files, FileText } from "./files.ts";
import { parseFullYaml } from "./full-yaml.ts";
import type { Problem } from "./problem.ts";
import { parseSimpleYaml } from "./simple-yaml.ts";
import { errorAt, locationOf, type Report, type SourceFile } from "./tree.ts";
import type { YamlMap } from "./yaml-node.ts";

/** A parsed file. Its directives and aliases are not resolved yet. */
export interface YamlFile {
  /** Absolute path. */
  readonly path: string;
  readonly source: SourceFile;
  readonly directives: readonly Directive[];
  readonly root: YamlMap;
}

export type YamlReadResult =
  | { readonly kind: "parsed"; readonly file: YamlFile }
  | { readonly kind: "absent" }
  /** It cannot be read, or is not valid YAML; `open` has reported the problem. Or it is remote and has no copy yet. */
  | { readonly kind: "broken" };

export interface YamlFiles {
  /**
   * Reads a file, which is parsed only once, even if many files include it. Each call reports the file's problems, unless
   * `isRelevant` returns false for its text.
   */
  open(path: string, isRelevant?: (text: string) => boolean): YamlReadResult;
  /** Frees the memory of a parsed file that other files probably do not include. A project may have thousands. */
  forget(path: string): void;
}

export function openYamlFiles(files: Files, report: Report): YamlFiles {
  const opened = new Map<string, { readonly result: YamlReadResult; readonly problems: readonly Problem[] }>();

  function open(path: string, read: FileText): { result: YamlReadResult; problems: readonly Problem[] } {
    const problems: Problem[] = [];
    const result = openYaml(path, { read, name: files.display(path) }, (problem) => problems.push(problem));
    return { result, problems };
  }

  return {
    open(path, isRelevant = () => true) {
      // Even if the file is already parsed: for each endpoint, the journal records which files it read, and their problems.
      const read = files.read(path);
      const file = opened.get(path) ?? open(path, read);
      opened.set(path, file);
      const isReported = file.problems.length > 0 && (!read.ok || isRelevant(read.text));
      for (const problem of isReported ? file.problems : []) report(problem);
      return file.result;
    },
    forget: (path) => opened.delete(path),
  };
}

function openYaml(
  path: string,
  { read, name }: { readonly read: FileText; readonly name: string },
  report: Report,
): YamlReadResult {
  if (read.ok) {
    const file = parseYaml(path, { file: name, text: read.text }, report);
    return file === undefined ? { kind: "broken" } : { kind: "parsed", file };
  }
  switch (read.why.kind) {
    case "absent":
      return { kind: "absent" };
    case "unreadable":
      report(errorAt({ file: name, line: 1, column: 1 }, [], `cannot be read: ${read.why.reason}`));
      return { kind: "broken" };
    // The load fetches remote files after this pass, and reads them in the next one.
    case "unread":
      return { kind: "broken" };
  }
}

function parseYaml(path: string, original: SourceFile, report: Report): YamlFile | undefined {
  const problem = (offset: number, message: string) =>
    report(errorAt(locationOf({ source: original, offset }), [], message));

  const { text, directives, rejection } = maskDirectives(original.text);
  if (rejection !== undefined) {
    problem(rejection.offset, rejection.message);
    return undefined;
  }
  const source: SourceFile = { file: original.file, text };
  const simple = parseSimpleYaml(text);
  if (simple !== undefined) return { path, source, directives, root: simple };

  const { root, problems } = parseFullYaml(text);
  for (const { offset, message } of problems) problem(offset, message);
  if (root?.kind === "map") return { path, source, directives, root };
  if (root !== undefined && (root.kind !== "scalar" || root.value !== null)) {
    problem(root.start, "expected a mapping of keys at the top level");
  } else if (problems.length === 0) problem(0, "the file is empty; write at least one key");
  return undefined;
}
