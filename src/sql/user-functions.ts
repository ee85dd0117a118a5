import type { Dialect, VariableName } from "./dialect.ts";
import { type FunctionRole, stricter } from "./function-role.ts";
import { literalMacro } from "./template.ts";
import { nameOf, type WholeToken, wholeTokens } from "./whole-tokens.ts";

/** A macro or view that a user created: what it does is what its text does. Names in lower case. */
export interface MadeFunction {
  readonly name: string;
  /** None for a view. */
  readonly parameters: readonly string[];
  readonly body: string;
}

/** What a database holds beyond the functions that the dialect knows by name. */
export interface MadeFunctions {
  readonly made: readonly MadeFunction[];
  /** Functions whose effect is not known. */
  readonly unknown: readonly string[];
}

/** The dialect of a database that holds these. */
export function dialectWith(dialect: Dialect, { made, unknown }: MadeFunctions): Dialect {
  if (made.length === 0 && unknown.length === 0) return dialect;
  const byName = new Map<string, MadeFunction[]>();
  for (const definition of made) byName.set(definition.name, [...(byName.get(definition.name) ?? []), definition]);
  const unknownNames = new Set(unknown);
  const judged = new Map<string, Judgement>();

  function judge(name: string): Judgement | undefined {
    const definitions = byName.get(name);
    if (definitions === undefined) return undefined;
    const known = judged.get(name);
    if (known !== undefined) return known;
    // One that calls itself does what the rest of it does.
    judged.set(name, NOTHING);
    const judgement = definitions.map((definition) => judgeBody(definition, extended)).reduce(both, NOTHING);
    judged.set(name, judgement);
    return judgement;
  }

  const extended: Dialect = {
    ...dialect,
    roleOf(name) {
      const builtIn = dialect.roleOf(name) ?? (unknownNames.has(name) ? { kind: "unknown" } : undefined);
      const own = judge(name);
      if (own === undefined) return builtIn;
      // Which of two of the same name is meant depends on where they lie: it counts as both, unless the other is merely unknown.
      return builtIn?.kind === "unknown" ? own.role : stricter(own.role, builtIn);
    },
    variablesBehind: (name) => judge(name)?.variables ?? [],
  };
  return extended;
}

/** What a body does with the arguments that it is given, and the variables that it hands to a function with a role. */
interface Judgement {
  readonly role: FunctionRole | undefined;
  readonly variables: readonly VariableName[];
}

const NOTHING: Judgement = { role: undefined, variables: [] };

function both(a: Judgement, b: Judgement): Judgement {
  return { role: stricter(a.role, b.role), variables: [...a.variables, ...b.variables] };
}

function judgeBody({ parameters, body }: MadeFunction, dialect: Dialect): Judgement {
  const tokens = [...wholeTokens(body, dialect)].filter(({ kind }) => !SKIPPED.has(kind));
  const names = new Set(parameters);
  const calls: string[] = [];
  let judgement = NOTHING;
  tokens.forEach((token, index) => {
    const next = tokens[index + 1]?.text;
    if (token.text === "(") {
      const before = tokens[index - 1];
      calls.push(before !== undefined && isName(before) ? nameOf(before) : "");
    } else if (token.text === ")") calls.pop();
    else if (isName(token)) {
      const name = nameOf(token);
      const isPart = tokens[index - 1]?.text === ".";
      if (names.has(name) && next !== "(" && !isPart) {
        judgement = both(judgement, { role: roleAround(calls, dialect), variables: [] });
      }
      if (name === "getvariable" && next === "(" && roleAround(calls, dialect) !== undefined) {
        judgement = both(judgement, { role: undefined, variables: [variableIn(tokens.slice(index + 2))] });
      }
      judgement = both(judgement, { role: undefined, variables: dialect.variablesBehind(name) });
    }
  });
  return judgement;
}

const SKIPPED: ReadonlySet<WholeToken["kind"]> = new Set(["space", "open-line-comment", "open-block-comment"]);

function isName({ kind }: WholeToken): boolean {
  return kind === "word" || kind === "open-identifier";
}

/** `'f')`: the name. Anything else is only known when it runs. */
function variableIn([first, second]: readonly WholeToken[]): VariableName {
  if (first?.kind !== "open-string" || second?.text !== ")") return undefined;
  return /^'([^']*)'$/.exec(first.text)?.[1]?.toLowerCase();
}

/** The strictest role of the functions around a position. */
function roleAround(calls: readonly string[], dialect: Dialect): FunctionRole | undefined {
  let role: FunctionRole | undefined;
  let quotedFor: string | undefined;
  for (const name of calls.toReversed()) {
    if (name.startsWith("sql_literal")) quotedFor ??= name;
    const found = dialect.roleOf(name);
    // Quoted for this very side it stays a text.
    if (found?.kind === "sql" && quotedFor === literalMacro(found.quoting)) continue;
    role = stricter(role, found);
  }
  return role;
}

const CREATING = new Set(["or", "replace", "temp", "temporary"]);

/** The macros that a template makes itself. Where its tokens are not conclusive, the stricter reading counts. */
export function macrosMadeBy(text: string, dialect: Dialect): readonly MadeFunction[] {
  const tokens = [...wholeTokens(text, dialect)].filter(({ kind }) => !SKIPPED.has(kind));
  return tokens.flatMap((token, index) => {
    const kind = nameOf(token);
    if (token.kind !== "word" || (kind !== "macro" && kind !== "function")) return [];
    let first = index - 1;
    while (first >= 0 && CREATING.has(nameOf(tokens[first] as WholeToken))) first--;
    if (first < 0 || nameOf(tokens[first] as WholeToken) !== "create") return [];
    const rest = tokens.slice(index + 1);
    const end = rest.findIndex(({ text: symbol }) => symbol === ";");
    const definition = end < 0 ? rest : rest.slice(0, end);
    const opens = definition.findIndex(({ text: symbol }) => symbol === "(");
    const name = definition[opens - 1];
    const start = definition[opens]?.start;
    if (name === undefined || start === undefined) return [];
    return { name: nameOf(name), parameters: parametersIn(definition), body: text.slice(start, rest[end]?.start) };
  });
}

/** Every name that begins an entry of a list in parentheses before AS: `(a, b := 2) AS ...`. */
function parametersIn(tokens: readonly WholeToken[]): readonly string[] {
  const lists: string[][] = [];
  const found: string[] = [];
  tokens.forEach((token, index) => {
    if (token.text === "(") lists.push([]);
    const before = tokens[index - 1]?.text;
    if ((before === "(" || before === ",") && isName(token)) lists.at(-1)?.push(nameOf(token));
    if (token.text !== ")") return;
    const list = lists.pop() ?? [];
    const after = tokens[index + 1];
    if (after !== undefined && nameOf(after) === "as") found.push(...list);
  });
  return found;
}
