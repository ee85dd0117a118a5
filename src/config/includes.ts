import { dirname, resolve } from "node:path";
import { type Include, splitReferences } from "./directives.ts";
import type { Environment } from "./environment.ts";
import type { Journal, Recorded } from "./journal.ts";
import type { KeyPath } from "./problem.ts";
import { substitute } from "./read-scalar.ts";
import { leaf, readEntries } from "./read-tree.ts";
import { isRemote } from "./remote-address.ts";
import { suggestion } from "./suggest.ts";
import {
  BROKEN,
  errorAt,
  locationOf,
  type Mapping,
  type NodePositions,
  SKIPPED,
  type SourcePosition,
  type Tree,
} from "./tree.ts";
import type { YamlFile, YamlFiles } from "./yaml-file.ts";

/** The keys that can be included from another file. */
const includable = ["request", "auth", "rate-limit", "connection", "template-source", "cache", "heartbeat"] as const;

export interface IncludeContext extends Pick<Journal, "files" | "report" | "record" | "replay"> {
  readonly yaml: YamlFiles;
  readonly environment: Environment;
  /** Included files must be inside these folders. */
  readonly roots: readonly string[];
}

interface Section {
  readonly at: SourcePosition;
  readonly included: boolean;
  read(path: KeyPath): Tree;
}

type Sections = ReadonlyMap<string, Section>;

/** Reads a file and its includes. */
export type ReadDocument = (file: YamlFile) => Tree;

export function openIncludes(context: IncludeContext): ReadDocument {
  const { files, environment } = context;
  const shared = new Map<string, Recorded<Tree>>();

  function problem(at: SourcePosition, path: KeyPath, message: string): void {
    context.report(errorAt(locationOf(at), path, message));
  }

  /** Whether the condition is false. A variable that must not be read is reported later. */
  function isSwitchedOff({ condition }: Include): boolean {
    if (condition === undefined || !environment.allows(condition.name)) return false;
    return ((environment.values.get(condition.name) ?? "") !== "") !== condition.mustBeSet;
  }

  /** The top-level keys of a file, with included ones. `chain` lists the files that include it, outermost first. */
  function sectionsOf(file: YamlFile, chain: readonly string[]): Sections {
    const sections = new Map<string, Section>();
    const here = [...chain, file.path];
    const add = (name: string, section: Section) => {
      const other = sections.get(name);
      if (other === undefined) sections.set(name, section);
      else if (other.included || section.included) {
        const at = section.included ? section.at : other.at;
        problem(
          at,
          [name],
          `'${name}' is ${other.included && section.included ? "included twice" : "both written and included"}; keep one of them`,
        );
      }
    };
    const readInclude = (include: Include, at: SourcePosition, path: KeyPath): Tree => {
      if (include.section === undefined) {
        problem(
          at,
          path,
          `'{{include from ${include.path}}}' names no section; write {{include:<section> from <path>}}`,
        );
        return leaf(BROKEN, at, at);
      }
      return readSection({ ...include, section: include.section }, { at, path, chain: here });
    };
    for (const entry of readEntries(file, { ...context, include: readInclude })) {
      if (entry.kind === "key") add(entry.name, { ...entry, included: false });
      else {
        const { include, at } = entry;
        if (isSwitchedOff(include)) continue;
        const { section } = include;
        const base = section === undefined ? undefined : baseOf(section);
        if (section === undefined) for (const [name, found] of readWholeFile(include, at, here)) add(name, found);
        else if (base === undefined) problem(at, [], forbiddenMessage(section));
        else add(base, { at, included: true, read: (path) => readInclude(include, at, path) });
      }
    }
    return sections;
  }

  interface Site {
    readonly at: SourcePosition;
    readonly path: KeyPath;
    readonly chain: readonly string[];
  }

  function readSection(include: Include & { readonly section: string }, site: Site): Tree {
    const { at, path } = site;
    const broken = leaf(BROKEN, at, at);
    if (baseOf(include.section) === undefined) {
      problem(at, path, forbiddenMessage(include.section));
      return broken;
    }
    const target = openTarget(include, site);
    if (target === undefined) return broken;
    if (target === SKIPPED) return leaf(SKIPPED, at, at);
    const key = JSON.stringify([target.path, include.section, path]);
    const known = shared.get(key);
    if (known !== undefined) return context.replay(known);
    const read = context.record(() => {
      const sections = sectionsOf(target, site.chain);
      const section = sections.get(include.section);
      if (section !== undefined) return section.read(path);
      const near = suggestion(include.section, [...sections.keys()]);
      const hint = near === undefined ? `it has ${[...sections.keys()].join(", ")}` : `did you mean '${near}'?`;
      problem(at, path, `'${include.section}' is not a key of ${target.source.file}; ${hint}`);
      return undefined;
    });
    if (read.value === undefined) return broken;
    shared.set(key, { ...read, value: read.value });
    return read.value;
  }

  /** `{{include from path}}`: all sections of the file. */
  function readWholeFile(include: Include, at: SourcePosition, chain: readonly string[]): Sections {
    const target = openTarget(include, { at, path: [], chain });
    if (target === undefined || target === SKIPPED) return new Map();
    const sections = sectionsOf(target, chain);
    const included = new Map<string, Section>();
    for (const [name, section] of sections) {
      const base = baseOf(name);
      if (base === undefined) problem(section.at, [name], forbiddenMessage(name));
      else if (name === base) included.set(base, { ...section, included: true, at });
      else if (!sections.has(base)) {
        if (included.has(base)) {
          problem(
            at,
            [base],
            `${target.source.file} has more than one '${base}-...'; include the one you want by name`,
          );
        } else included.set(base, { ...section, included: true, at });
      }
    }
    return included;
  }

  function openTarget(include: Include, { at, path, chain }: Site): YamlFile | typeof SKIPPED | undefined {
    const { condition } = include;
    if (isSwitchedOff(include)) return SKIPPED;
    if (condition !== undefined && !environment.allows(condition.name)) {
      const found = environment.lookUp(condition.name);
      if (!found.ok) problem(at, path, found.message);
      return undefined;
    }
    const written = substitute(splitReferences(include.path), environment);
    if (written.kind === "broken") {
      for (const message of written.messages) problem(at, path, message);
      return undefined;
    }
    const from = chain.at(-1) ?? "";
    if (isRemote(from)) {
      problem(at, path, "a remote file cannot include another; write the keys here");
      return undefined;
    }
    const target = resolve(dirname(from), String(written.data));
    const containment = files.containment(target, context.roots);
    if (containment === "outside") {
      problem(
        at,
        path,
        `the include '${written.data}' leaves the project; it must stay in the folder of the configuration file or in template.path`,
      );
      return undefined;
    }
    const opened = context.yaml.open(target);
    if (opened.kind === "absent") problem(at, path, `Include file not found: ${written.data}`);
    if (opened.kind !== "parsed") return undefined;
    if (!chain.includes(target)) return opened.file;
    const cycle = [...chain.slice(chain.indexOf(target)), target].map(files.display).join(" -> ");
    problem(at, path, `circular include: ${cycle}`);
    return undefined;
  }

  return (file) => {
    const data: Mapping = Object.create(null);
    const children = new Map<string | number, NodePositions>();
    for (const [name, section] of sectionsOf(file, [])) {
      const tree = section.read([name]);
      if (tree.data === SKIPPED) continue;
      data[name] = tree.data;
      children.set(name, tree.positions);
    }
    const start: SourcePosition = { source: file.source, offset: 0 };
    return { data, positions: { key: start, value: start, children, secrets: [] } };
  };
}

/** Returns `auth` for `auth` and for variants such as `auth-prod`. */
function baseOf(section: string): string | undefined {
  return includable.find((name) => section === name || section.startsWith(`${name}-`));
}

function forbiddenMessage(section: string): string {
  return `'${section}' cannot be included; only ${includable.join(", ")} and their variants can`;
}
