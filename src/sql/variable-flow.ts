import type { VariableName } from "./dialect.ts";
import type { TemplateProblem, ValueClass } from "./template.ts";
import { positionProblem, type ValuePosition } from "./value-place.ts";

/** The class of the client values that a variable holds. `typed` includes `scalar` here: neither can contain SQL. */
type HeldClass = Exclude<ValueClass, "enum" | "scalar">;

/** Follows client values through the variables of a template: `SET VARIABLE f = '{{{params.v}}}'`, then `getvariable('f')`. */
export interface VariableFlow {
  /** Adds a token of bare SQL, in upper case. */
  addToken(text: string): void;
  /** Adds a client value to the current statement. */
  addValue(valueClass: ValueClass): void;
  /** Whether the current statement sets a variable. */
  isSettingVariable(): boolean;
  /** Adds a read of a variable at `offset` in the template. */
  addUse(name: VariableName, position: ValuePosition, offset: number): void;
  /** Names the variable of the last use, once its string literal has been read. */
  nameLastUse(name: string): void;
  endStatement(): void;
  /** Client values that reach a forbidden position through a variable. */
  problems(): readonly TemplateProblem[];
}

interface Use {
  name: VariableName;
  readonly position: ValuePosition;
  readonly offset: number;
}

/** A statement that sets a variable. */
interface Assignment {
  readonly variable: string;
  readonly held: HeldClass | undefined;
  /** Whether it may read from a table. */
  readonly selects: boolean;
  /** The variables that it reads. */
  readonly reads: readonly Use[];
}

const STORING = new Set(["CREATE", "INSERT", "UPDATE", "MERGE", "COPY"]);
const SELECTING = new Set(["SELECT", "FROM", "TABLE", "VALUES", "WITH"]);

export function openVariableFlow(): VariableFlow {
  const uses: Use[] = [];
  const assignments: Assignment[] = [];
  /** The client values that this template stores in tables. */
  let stored: HeldClass | undefined;
  let words: string[] = [];
  let held: HeldClass | undefined;
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

  /** The client values that each variable may hold, whatever the order of the statements. */
  function heldByVariable(): ReadonlyMap<string, HeldClass> {
    const found = new Map<string, HeldClass>();
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
    isSettingVariable: () => words[0] === "SET" && words[1] === "VARIABLE",
    addToken(text) {
      if (STORING.has(text) && (words.length === 0 || words[0] === "WITH")) stores = true;
      if (words.length < 3) words.push(text);
      if (SELECTING.has(text)) selects = true;
    },
    addValue(valueClass) {
      if (valueClass !== "enum") held = riskier(held, valueClass === "text" ? "text" : "typed");
    },
    addUse(name, position, offset) {
      uses.push({ name, position, offset });
    },
    nameLastUse(name) {
      const last = uses.at(-1);
      if (last !== undefined) last.name = name.toLowerCase();
    },
    endStatement,
    problems() {
      endStatement();
      const classes = heldByVariable();
      return uses.flatMap(({ name, position, offset }): readonly TemplateProblem[] => {
        const valueClass = heldBy(name, classes);
        // Text in SQL for another database is checked before the query runs. A variable cannot be, so the stricter rules apply.
        const strict: ValuePosition = position.kind === "sql" ? { ...position, runsIn: "this-database" } : position;
        const what =
          name === undefined ? "a variable that holds a client value" : `variable ${name} holds a client value, which`;
        const message = valueClass && positionProblem(what, valueClass, strict);
        return message === undefined ? [] : [{ severity: "error", offset, message }];
      });
    },
  };
}

/** For an unknown name: what any variable may hold. */
function heldBy(name: VariableName, classes: ReadonlyMap<string, HeldClass>): HeldClass | undefined {
  return name === undefined ? [...classes.values()].reduce(riskier, undefined) : classes.get(name);
}

function riskier(a: HeldClass | undefined, b: HeldClass | undefined): HeldClass | undefined {
  return a === "text" || b === "text" ? "text" : (a ?? b);
}
