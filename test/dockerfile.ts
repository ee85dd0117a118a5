import { readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");

export interface Instruction {
  readonly name: string;
  readonly words: readonly string[];
  /** Everything after the name. */
  readonly text: string;
}

/** The instructions of the Dockerfile, stage by stage. Instructions before the first FROM count as a stage. */
export function dockerStages(): readonly (readonly Instruction[])[] {
  const text = readFileSync(join(root, "Dockerfile"), "utf8")
    .replace(/^#.*\n/gm, "")
    .replace(/\\\n\s*/g, "");
  const stages: Instruction[][] = [[]];
  for (const line of text.split("\n").filter((each) => each.trim() !== "")) {
    const [name = "", ...words] = line.split(/\s+/);
    if (name === "FROM") stages.push([]);
    stages.at(-1)?.push({ name, words, text: line.slice(name.length).trim() });
  }
  return stages;
}

/** The stage that becomes the image. */
export function finalStage(): readonly Instruction[] {
  return dockerStages().at(-1) ?? [];
}

/** The last instruction of this name in the image. */
export function lastOf(name: string): Instruction {
  const found = finalStage().findLast((instruction) => instruction.name === name);
  if (found === undefined) throw new Error(`the Dockerfile has no ${name}`);
  return found;
}

/** The arguments in exec form, such as `["node", "x"]`, of an ENTRYPOINT, CMD or HEALTHCHECK. */
export function argumentsIn({ text }: Instruction): readonly string[] {
  return JSON.parse(text.slice(text.indexOf("["))) as string[];
}

/** The environment variables that the image sets. */
export function imageEnvironment(): Readonly<Record<string, string>> {
  const pairs = finalStage()
    .filter(({ name }) => name === "ENV")
    .flatMap(({ words }) =>
      words.map((word): [string, string] => [word.split("=")[0] ?? "", word.split("=")[1] ?? ""]),
    );
  return Object.fromEntries(pairs);
}
