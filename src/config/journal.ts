import type { Files, FileText } from "./files.ts";
import type { Problem } from "./problem.ts";
import type { Report } from "./tree.ts";

/** The result of a part of a load, with everything that the part read and reported. */
export interface Recorded<T> {
  readonly value: T;
  readonly inputs: ReadonlyMap<string, Input>;
  readonly problems: readonly Problem[];
}

/** What a part of a load asked of the file system, and the answer. */
type Input =
  | { readonly kind: "text"; readonly file: string; readonly found: FileText }
  | {
      readonly kind: "containment";
      readonly file: string;
      readonly folders: readonly string[];
      readonly found: ReturnType<Files["containment"]>;
    };

/** Records what parts of a load read and report. The next load reuses a part whose inputs have not changed. */
export interface Journal {
  /** Records reads. Listings are not recorded, so a recorded part must not list folders. */
  readonly files: Files;
  readonly report: Report;
  record<T>(work: () => T): Recorded<T>;
  /** Reports the problems of a recorded part again, and records its inputs as those of the current part. */
  replay<T>(recorded: Recorded<T>): T;
  /** Whether the part would read the same now. */
  isCurrent(recorded: Recorded<unknown>): boolean;
}

interface OpenPart {
  readonly inputs: Map<string, Input>;
  readonly problems: Problem[];
}

export function openJournal(files: Files, report: Report): Journal {
  /** The part that runs now. */
  let current: OpenPart | undefined;

  function reportAndRecord(problem: Problem): void {
    current?.problems.push(problem);
    report(problem);
  }

  function isSame(input: Input): boolean {
    switch (input.kind) {
      case "text":
        return isSameText(files.read(input.file), input.found);
      case "containment":
        return files.containment(input.file, input.folders) === input.found;
    }
  }

  return {
    files: {
      ...files,
      read(file) {
        const found = files.read(file);
        current?.inputs.set(file, { kind: "text", file, found });
        return found;
      },
      containment(file, folders) {
        const found = files.containment(file, folders);
        current?.inputs.set(JSON.stringify([file, ...folders]), { kind: "containment", file, folders, found });
        return found;
      },
    },
    report: reportAndRecord,
    record(work) {
      const outer = current;
      const part: OpenPart = { inputs: new Map(), problems: [] };
      current = part;
      try {
        return { value: work(), ...part };
      } finally {
        current = outer;
        addTo(outer, part);
      }
    },
    replay(recorded) {
      addTo(current, recorded);
      for (const problem of recorded.problems) report(problem);
      return recorded.value;
    },
    isCurrent: (recorded) => [...recorded.inputs.values()].every(isSame),
  };
}

/** What a part reads and reports counts for the part around it too. */
function addTo(outer: OpenPart | undefined, { inputs, problems }: Omit<Recorded<unknown>, "value">): void {
  for (const [key, input] of inputs) outer?.inputs.set(key, input);
  outer?.problems.push(...problems);
}

function isSameText(one: FileText, other: FileText): boolean {
  if (one.ok || other.ok) return one.ok && other.ok && one.text === other.text;
  return JSON.stringify(one.why) === JSON.stringify(other.why);
}
