import { expect, test } from "vitest";
import { parseFullYaml } from "./full-yaml.ts";

test.each([
  [
    "summary: a: b\n",
    "9: not valid YAML: nested mappings are not allowed in compact mappings; put quotes around a value that contains a colon",
  ],
  ["- summary: note: this\n", /put quotes around a value that contains a colon$/],
  ["summary: it's 5 o'clock: now\n", /put quotes around a value that contains a colon$/],
  ["a: /x\n  summary: a\n", /check the indentation of this line and the next$/],
  ["a:\n- b: a\n  c: query\n   d: 1\n", /check the indentation of this line and the next$/],
  [
    "a:\n  - b: a\n c: query\n",
    /all mapping items must start at the same column; check the indentation of this line and the next$/,
  ],
  ["\ta: 1\n", "0: a tab in the indentation; YAML takes spaces only"],
  ["{% if x %}\na: /x\n{% endif %}\n", /^0: '\{% \.\.\. %\}' is Jinja, which Eider does not use; /],
  ["a: 1\nb: {% raw %}x{% endraw %}\n", /^8: '\{% \.\.\. %\}' is Jinja/],
  ["a: 'it's'\n", /put double quotes around a value with an apostrophe$/],
  ["a: @b\n", /reserved character @; put quotes around the value$/],
  ["a: %b\n", /put quotes around the value$/],
  ["a: | text\n", /the text of a block begins on the next line$/],
  ["a /x\nb: c\n", /write 'key: value', with a space after the colon$/],
  ["a: 1\nsummary:b\nc: d\n", /write 'key: value', with a space after the colon$/],
  ["a: 1\na: 2\n", "5: the key 'a' is there twice; keep one"],
])("%j says what to do", (text, expected) => {
  const { problems } = parseFullYaml(text);
  expect(problems.map(({ offset, message }) => `${offset}: ${message}`)).toEqual([
    typeof expected === "string" ? expected : expect.stringMatching(expected),
  ]);
});

test.each(['a: "b: c"\n', "a: 'x {% y %}'\n", "a: {b: c}\n", "a: http://b:80/c\n", "a: |\n  b: c\n"])(
  "%j is YAML",
  (text) => {
    expect(parseFullYaml(text).problems).toEqual([]);
  },
);
