import type { Dialect, VariableName } from "./dialect.ts";
import { type FunctionRole, stricter } from "./function-role.ts";
import { literalMacro } from "./template.ts";
import { nameOf, type WholeToken, wholeTokens } from "./whole-tokens.ts";

/** A macro or view that a user created. Its body shows what it does. Names are lower case. */
export interface UserFunction {
  readonly name: string;
  /** Empty for a view. */
  readonly parameters: readonly string[];
  readonly body: string;
}

/** The functions, macros and views of a database that the dialect does not know by name. */
export interface UserFunctions {
  readonly defined: readonly UserFunction[];
  /** Functions whose effect is not known. */
  readonly unknown: readonly string[];
}

/** The dialect, extended by these functions. */
export function dialectWith(dialect: Dialect, { defined, unknown }: UserFunctions): Dialect {
  if (defined.length === 0 && unknown.length === 0) return dialect;
  const byName = new Map<string, UserFunction[]>();
  for (const definition of defined) byName.set(definition.name, [...(byName.get(definition.name) ?? []), definition]);
  const unknownNames = new Set(unknown);
  const analyses = new Map<string, Analysis>();

  function analyze(name: string): Analysis | undefined {
    const definitions = byName.get(name);
    if (definitions === undefined) return undefined;
    const known = analyses.get(name);
    if (known !== undefined) return known;
    // A recursive call counts as nothing: the rest of the body determines the result.
    analyses.set(name, NOTHING);
    const analysis = definitions.map((definition) => analyzeBody(definition, extended)).reduce(combine, NOTHING);
    analyses.set(name, analysis);
    return analysis;
  }

  const extended: Dialect = {
    ...dialect,
    roleOf(name) {
      const listed = dialect.roleOf(name) ?? (unknownNames.has(name) ? { kind: "unknown" } : undefined);
      const macro = analyze(name);
      if (macro === undefined) return listed;
      // The name may refer to the macro or to another function: the stricter role counts, unless that function's role is unknown.
      return listed?.kind === "unknown" ? macro.role : stricter(macro.role, listed);
    },
    variablesPassedBy: (name) => analyze(name)?.variables ?? [],
  };
  return extended;
}

/** What a body does with its arguments, and the variables that it passes to a function with a `FunctionRole`. */
interface Analysis {
  readonly role: FunctionRole | undefined;
  readonly variables: readonly VariableName[];
}

const NOTHING: Analysis = { role: undefined, variables: [] };

function combine(a: Analysis, b: Analysis): Analysis {
  return { role: stricter(a.role, b.role), variables: [...a.variables, ...b.variables] };
}

function analyzeBody({ parameters, body }: UserFunction, dialect: Dialect): Analysis {
  const tokens = [...wholeTokens(body, dialect)].filter(({ kind }) => !SKIPPED.has(kind));
  const names = new Set(parameters);
  const calls: string[] = [];
  let analysis = NOTHING;
  tokens.forEach((token, index) => {
    const next = tokens[index + 1]?.text;
    if (token.text === "(") {
      const before = tokens[index - 1];
      calls.push(before !== undefined && isName(before) ? nameOf(before) : "");
    } else if (token.text === ")") calls.pop();
    else if (isName(token)) {
      const name = nameOf(token);
      const isQualified = tokens[index - 1]?.text === ".";
      if (names.has(name) && next !== "(" && !isQualified) {
        analysis = combine(analysis, { role: roleAround(calls, dialect), variables: [] });
      }
      if (name === "getvariable" && next === "(" && roleAround(calls, dialect) !== undefined) {
        analysis = combine(analysis, { role: undefined, variables: [variableIn(tokens.slice(index + 2))] });
      }
      analysis = combine(analysis, { role: undefined, variables: dialect.variablesPassedBy(name) });
    }
  });
  return analysis;
}

const SKIPPED: ReadonlySet<WholeToken["kind"]> = new Set(["space", "open-line-comment", "open-block-comment"]);

function isName({ kind }: WholeToken): boolean {
  return kind === "word" || kind === "open-identifier";
}

/** The name of the variable, from the tokens after `getvariable(`, such as `'f')`. Undefined unless it is a string literal: otherwise it is known only at run time. */
function variableIn([first, second]: readonly WholeToken[]): VariableName {
  if (first?.kind !== "open-string" || second?.text !== ")") return undefined;
  return /^'([^']*)'$/.exec(first.text)?.[1]?.toLowerCase();
}

/** The strictest role of the function calls that enclose a position. */
function roleAround(calls: readonly string[], dialect: Dialect): FunctionRole | undefined {
  let role: FunctionRole | undefined;
  let quotedFor: string | undefined;
  for (const name of calls.toReversed()) {
    if (name.startsWith("sql_literal")) quotedFor ??= name;
    const found = dialect.roleOf(name);
    // A value that is quoted for the database that runs the SQL cannot act as SQL.
    if (found?.kind === "sql" && quotedFor === literalMacro(found.quoting)) continue;
    role = stricter(role, found);
  }
  return role;
}

const BETWEEN_CREATE_AND_MACRO = new Set(["or", "replace", "temp", "temporary"]);

/** The macros that a template creates. Where its tokens are ambiguous, the stricter reading counts. */
export function macrosCreatedBy(text: string, dialect: Dialect): readonly UserFunction[] {
  // Few templates create one, and tokenizing is slow.
  if (!/macro|function/i.test(text)) return [];
  const tokens = [...wholeTokens(text, dialect)].filter(({ kind }) => !SKIPPED.has(kind));
  return tokens.flatMap((token, index) => {
    const kind = nameOf(token);
    if (token.kind !== "word" || (kind !== "macro" && kind !== "function")) return [];
    let first = index - 1;
    // The casts are safe: `first` is the index of a token.
    while (first >= 0 && BETWEEN_CREATE_AND_MACRO.has(nameOf(tokens[first] as WholeToken))) first--;
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

/** The parameter names: the first name of each entry in a list in parentheses that AS follows, as in `(a, b := 2) AS ...`. */
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
