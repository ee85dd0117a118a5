/** Parses the subset of Markdown that is needed to check the documentation against the code. */

export interface Table {
  /** The nearest heading above, without its `#`. */
  readonly section: string;
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export interface Block {
  readonly language: string;
  readonly text: string;
}

const FENCE = /^```(\w*)\n([\s\S]*?)^```$/gm;

export function blocksOf(page: string): readonly Block[] {
  return [...page.matchAll(FENCE)].map(([, language = "", text = ""]) => ({ language, text }));
}

export function headingsOf(page: string): readonly string[] {
  return [...page.replace(FENCE, "").matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) => title);
}

/** The anchor of a heading in links. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");
}

export function linksOf(page: string): readonly string[] {
  return [...page.replace(FENCE, "").matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
}

/** The text of each section, by its heading. */
function sectionsOf(page: string): ReadonlyMap<string, string> {
  const parts = page.replace(FENCE, "").split(/^#+ /m).slice(1);
  return new Map(
    parts.map((part) => {
      const end = part.indexOf("\n");
      return [part.slice(0, end), part.slice(end + 1)];
    }),
  );
}

export function tablesOf(page: string): readonly Table[] {
  const tables: Table[] = [];
  for (const [section, text] of sectionsOf(page)) {
    for (const [table] of text.matchAll(/(?:^\|.*\|$\n?)+/gm)) {
      const [header = [], , ...rows] = table.trim().split("\n").map(cellsOf);
      tables.push({ section, header, rows });
    }
  }
  return tables;
}

function cellsOf(line: string): readonly string[] {
  return line
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll("\\|", "|"));
}

/** The texts in backticks. */
export function codesOf(cell: string): readonly string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);
}
