import type { VariableName } from "./dialect.ts";
import type { TemplateProblem, ValueClass } from "./template.ts";
import { misplaced, type ValuePlace } from "./value-place.ts";

/** The client values of a variable. `typed` ones contain no text. */
type Held = Exclude<ValueClass, "enum" | "scalar">;

/** Follows client values through the variables of a template: `SET VARIABLE f = '{{{params.v}}}'`, then `getvariable('f')`. */
export interface VariableFlow {
  /** A token of bare SQL, in upper case. */
  token(text: string): void;
  /** The statement contains a client value. */
  value(traits: ValueClass): void;
  /** Whether the current statement sets a variable. */
  isSetting(): boolean;
  /** A variable is read; `offset` is where in the template. */
  use(name: VariableName, place: ValuePlace, offset: number): void;
  /** The variable that was read last has this name. */
  nameLast(name: string): void;
  endStatement(): void;
  /** Client values that reach a forbidden position through a variable. */
  problems(): readonly TemplateProblem[];
}

interface Use {
  name: VariableName;
  readonly place: ValuePlace;
  readonly offset: number;
}

/** A statement that sets a variable. */
interface Assignment {
  readonly variable: string;
  readonly held: Held | undefined;
  /** It reads from a table. */
  readonly selects: boolean;
  readonly reads: readonly Use[];
}

const STORING = new Set(["CREATE", "INSERT", "UPDATE", "MERGE", "COPY"]);
const SELECTING = new Set(["SELECT", "FROM", "TABLE", "VALUES", "WITH"]);

export function openVariableFlow(): VariableFlow {
  const uses: Use[] = [];
  const assignments: Assignment[] = [];
  /** The client values that this template stores in tables. */
  let stored: Held | undefined;
  let words: string[] = [];
  let held: Held | undefined;
  let selects = false;
  let stores = false;
  let usesBefore = 0;

  function endStatement(): void {
    const [first = "", second, variable] = words;
    if (first === "SET" && second === "VARIABLE" && variable !== undefined) {
      const name = variable.replace(/^"|"$/g, "").toLowerCase();
      assignments.push({ variable: name, held, selects, reads: uses.slice(usesBefore) });
    } else if (stores) {
      stored = riskier(stored, held);
    }
    words = [];
    held = undefined;
    selects = false;
    stores = false;
    usesBefore = uses.length;
  }

  /** The client values that each variable may hold, in any order of the statements. */
  function holdings(): ReadonlyMap<string, Held> {
    const found = new Map<string, Held>();
    for (let grew = true; grew; ) {
      grew = false;
      for (const { variable, held: own, selects: fromTable, reads } of assignments) {
        const read = reads.map(({ name }) => heldBy(name, found)).reduce(riskier, undefined);
        const holds = riskier(riskier(own, fromTable ? stored : undefined), read);
        if (holds === undefined || riskier(found.get(variable), holds) === found.get(variable)) continue;
        found.set(variable, holds);
        grew = true;
      }
    }
    return found;
  }

  return {
    isSetting: () => words[0] === "SET" && words[1] === "VARIABLE",
    token(text) {
      if (STORING.has(text) && (words.length === 0 || words[0] === "WITH")) stores = true;
      if (words.length < 3) words.push(text);
      if (SELECTING.has(text)) selects = true;
    },
    value(traits) {
      if (traits !== "enum") held = riskier(held, traits === "text" ? "text" : "typed");
    },
    use(name, place, offset) {
      uses.push({ name, place, offset });
    },
    nameLast(name) {
      const last = uses.at(-1);
      if (last !== undefined) last.name = name.toLowerCase();
    },
    endStatement,
    problems() {
      endStatement();
      const holds = holdings();
      return uses.flatMap(({ name, place, offset }): readonly TemplateProblem[] => {
        const traits = heldBy(name, holds);
        // Unlike a value, a variable cannot be checked before the query runs.
        const strict: ValuePlace = place.kind === "sql" ? { ...place, runsIn: "this-database" } : place;
        const what =
          name === undefined ? "a variable that holds a client value" : `variable ${name} holds a client value, which`;
        const message = traits && misplaced(what, traits, strict);
        return message === undefined ? [] : [{ severity: "error", offset, message }];
      });
    },
  };
}

/** For an unknown name: what any variable may hold. */
function heldBy(name: VariableName, holds: ReadonlyMap<string, Held>): Held | undefined {
  return name === undefined ? [...holds.values()].reduce(riskier, undefined) : holds.get(name);
}

function riskier(a: Held | undefined, b: Held | undefined): Held | undefined {
  return a === "text" || b === "text" ? "text" : (a ?? b);
}
