import { DuckDBInstance } from "@duckdb/node-api";

/** Runs SQL in a database in memory, to create data files. */
export async function createDataFiles(...sql: readonly string[]): Promise<void> {
  const database = await DuckDBInstance.create(":memory:");
  const connection = await database.connect();
  try {
    for (const statement of sql) await connection.run(statement);
  } finally {
    connection.closeSync();
    database.closeSync();
  }
}

const WORDS = [
  ...[
    "id",
    "ID 2",
    "a b",
    " leading",
    "trailing ",
    "größe",
    "名前",
    "\u0627\u0633\u0645",
    "🦆",
    "e\u0301",
    "é",
    "naïve name",
  ],
  ...[
    "select",
    "order",
    "group",
    "from",
    "table",
    "user",
    "limit",
    "offset",
    "format",
    "sort",
    "where",
    "null",
    "true",
  ],
  ...[`it's`, `say "hi"`, "back`tick", "a;b", "a--b", "/*a*/", "a\\b", "a/b", "a?b", "a#b", "a&b=c", "%", "%41", "*"],
  ...[
    "{{x}}",
    "{{{params.id}}}",
    "<%x%>",
    "[[x]]",
    "{",
    "}",
    "$\u007bHOME}",
    "$HOME",
    "$1",
    "$$",
    ":name",
    "@",
    "a.b",
    "a,b",
  ],
  ...[
    "a\nb",
    "a\tb",
    "a\r\nb",
    "a",
    "a_min",
    "a_max",
    "a_contains",
    "a min",
    "0",
    "1a",
    "-1",
    "__proto__",
    "constructor",
  ],
  ...[
    "yes",
    "no",
    "~",
    "!tag",
    "&anchor",
    "*alias",
    "- a",
    "? a",
    "a: b",
    "a #b",
    "|",
    ">",
    "[a]",
    "{a: b}",
    "x".repeat(200),
  ],
];

/** Names of columns that mean something elsewhere, or look alike. No two differ only in their case. */
export const ODD_NAMES: readonly string[] = [
  ...WORDS,
  ...Array.from({ length: Math.max(0, 100 - WORDS.length) }, (_, index) => `column ${index}`),
];

/** Values of many types, in turn. */
const VALUES = [
  ...["i", "'v' || i", "i % 2 = 0", "i * 1.5", "i::DOUBLE", "DATE '2024-01-01' + i::INTEGER", "uuid()", "[i]"],
  ...["TIMESTAMP '2024-01-01' + INTERVAL (i) HOUR", "(TIMESTAMP '2024-01-01' + INTERVAL (i) HOUR)::TIMESTAMP_NS"],
  ...["TIME '10:00:00' + INTERVAL (i) SECOND", "{'a': i}", "i::HUGEINT", "TIMESTAMPTZ '2024-01-01 00:00:00+00'"],
];

/** A query that returns `rows` rows with a column for each of the names. */
export function oddRows(rows: number): string {
  const columns = ODD_NAMES.map((name, index) => `${VALUES[index % VALUES.length]} AS "${name.replaceAll('"', '""')}"`);
  return `SELECT ${columns.join(", ")} FROM range(${rows}) r(i)`;
}
