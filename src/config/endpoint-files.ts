import { dirname, isAbsolute, resolve } from "node:path";
import { PlainScalar } from "../params/validators/scalars.ts";
import type { Sliced } from "../slices.ts";
import { buildEndpointConfig, type EndpointContext } from "./endpoint-config.ts";
import type { Files } from "./files.ts";
import { endpointRules, flapiEndpointRules, ignoredMcpKeys } from "./flapi-keys.ts";
import type { ReadDocument } from "./includes.ts";
import type { Journal, Recorded } from "./journal.ts";
import { applyKeyRules } from "./key-rules.ts";
import { parseTree } from "./parse-tree.ts";
import type { EndpointConfig } from "./project.ts";
import { isRemote } from "./remote-address.ts";
import { reporterOf } from "./reporter.ts";
import { endpointSchema, kindKeys } from "./schema/endpoint.ts";
import { mcpKeys } from "./schema/mcp.ts";
import { nearest, suggestion } from "./suggest.ts";
import {
  errorAt,
  isMapping,
  keyLocation,
  locationOf,
  type NodePositions,
  type Report,
  securityWarningAt,
  type Tree,
  warningAt,
} from "./tree.ts";
import type { YamlFile, YamlFiles } from "./yaml-file.ts";

export interface EndpointFilesContext {
  readonly journal: Journal;
  readonly yaml: YamlFiles;
  readonly read: ReadDocument;
  readonly endpoints: EndpointContext;
  /** The result of the previous load. */
  readonly previous: EndpointFiles;
}

/** The endpoint of each file, by path. Undefined if the file is only for includes, or cannot be parsed. */
export type EndpointFiles = ReadonlyMap<string, Recorded<ParsedEndpoint | undefined>>;

export interface ParsedEndpoint {
  readonly config: EndpointConfig;
  readonly positions: NodePositions;
  /**
   * If its cache block has a problem or was not read completely, the table that the block names; undefined if that is unknown.
   * Otherwise, the list is empty.
   */
  readonly brokenCaches: readonly (string | undefined)[];
  /** One of its templates is remote and has not been read. */
  readonly isUnread: boolean;
}

/** Recognizes endpoint files. Other YAML files may belong to other tools, so problems in them are not reported. */
const KIND_KEY = new RegExp(`(?:^|[{,])\\s*["']?(?:${kindKeys.join("|")})["']?\\s*:`, "m");

/** Reads the endpoint files, in order. An endpoint stays the same object if no file that it was read from has changed. */
export function* readEndpointFiles(paths: readonly string[], context: EndpointFilesContext): Sliced<EndpointFiles> {
  const { journal, previous } = context;
  const files = new Map<string, Recorded<ParsedEndpoint | undefined>>();
  for (const path of paths) {
    const known = previous.get(path);
    const isKnown = known !== undefined && journal.isCurrent(known);
    if (isKnown) journal.replay(known);
    files.set(path, isKnown ? known : journal.record(() => readEndpointFile(path, context)));
    yield;
  }
  return files;
}

function readEndpointFile(path: string, context: EndpointFilesContext): ParsedEndpoint | undefined {
  const { files, report } = context.journal;
  const opened = context.yaml.open(path, (text) => KIND_KEY.test(text));
  if (opened.kind === "absent") {
    const location = { file: files.display(path), line: 1, column: 1 };
    const reason = isRemote(path) ? "it was deleted" : "it is a broken symbolic link";
    report(errorAt(location, [], `cannot be read: ${reason}`));
  }
  if (opened.kind !== "parsed" || isFragment(opened.file, report)) return undefined;
  context.yaml.forget(path);
  return readEndpoint(opened.file, context);
}

function readEndpoint(file: YamlFile, context: EndpointFilesContext): ParsedEndpoint | undefined {
  const { files, report } = context.journal;
  const tree = context.read(file);
  applyKeyRules(tree, context.endpoints.isFlapi ? flapiEndpointRules : endpointRules, report);
  warnAboutIgnoredKeys(tree, report);
  const { value: input, broken } = parseTree(tree, endpointSchema, report);
  if (input === undefined) return undefined;
  const name = file.source.file;
  const { positions } = tree;
  const endpoint = buildEndpointConfig({ path: file.path, file: name, input, positions, broken }, context.endpoints);
  const shadowed =
    context.endpoints.isFlapi && shadowedTemplateWarning(file.path, input["template-source"], endpoint.config, files);
  if (typeof shadowed === "string") reporterOf(positions, report).warning(["template-source"], shadowed);
  const isBroken = broken.has("cache") || (endpoint.isUnread && input.cache !== undefined);
  return { ...endpoint, positions, brokenCaches: isBroken ? [cacheTableIn(tree)] : [] };
}

/** A warning if flAPI would read the template beside the YAML file, but Eider reads another one in `template.path`. */
function shadowedTemplateWarning(
  yamlFile: string,
  name: string | undefined,
  { template }: EndpointConfig,
  files: Files,
): string | undefined {
  if (
    name === undefined ||
    template === undefined ||
    isAbsolute(name) ||
    isRemote(name) ||
    isRemote(yamlFile) ||
    name.includes("..")
  )
    return undefined;
  const path = resolve(dirname(yamlFile), name);
  const beside = files.display(path);
  if (beside === template.file) return undefined;
  const read = files.read(path);
  if (!read.ok || read.text === template.text) return undefined;
  return `Eider reads ${template.file}, not ${beside}, because it searches template.path first; write the path of ${beside} relative to template.path, or rename one of the files`;
}

function cacheTableIn({ data }: Tree): string | undefined {
  const cache = isMapping(data) ? data["cache"] : undefined;
  const table = isMapping(cache) ? cache["table"] : undefined;
  return table instanceof PlainScalar ? table.source : typeof table === "string" ? table : undefined;
}

/** Whether a file is only for includes: it has none of `kindKeys`. A key that resembles one of them is reported as a typo. */
function isFragment({ root, source }: YamlFile, report: Report): boolean {
  const keys = root.pairs.flatMap(({ key }) =>
    key.kind === "scalar" && typeof key.value === "string" ? [{ name: key.value, offset: key.start }] : [],
  );
  if (keys.some(({ name }) => kindKeys.some((kind) => kind === name))) return false;
  for (const { name, offset } of keys) {
    const near = nearest(name, kindKeys);
    if (near !== undefined) {
      report(errorAt(locationOf({ source, offset }), [name], `unknown key '${name}'; did you mean '${near}'?`));
    }
  }
  return true;
}

/** Unknown keys are errors, except in the MCP blocks, where they are ignored with a warning. */
function warnAboutIgnoredKeys({ data, positions }: Tree, report: Report): void {
  for (const [kind, known] of Object.entries(mcpKeys)) {
    const block = isMapping(data) ? data[kind] : undefined;
    for (const key of isMapping(block) ? Object.keys(block) : []) {
      if (known.includes(key)) continue;
      const near = suggestion(key, known);
      const hint =
        ignoredMcpKeys[key] ?? (near === undefined ? `known: ${known.join(", ")}` : `did you mean '${near}'?`);
      const warning = key === "allowed-roles" ? securityWarningAt : warningAt;
      report(warning(keyLocation(positions, [kind, key]), [kind, key], `'${key}' is ignored; ${hint}`));
    }
  }
}
