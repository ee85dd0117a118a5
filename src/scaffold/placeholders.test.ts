import { expect, test } from "vitest";
import { engine } from "../engines/index.ts";
import { withTags } from "./placeholders.ts";

test.each([
  ["WHERE a = $name AND b = $1", "WHERE a = {{params.name}} AND b = {{params.p1}}"],
  ["WHERE a = :name AND b=:b", "WHERE a = {{params.name}} AND b={{params.b}}"],
  ["f(:a,:b)", "f({{params.a}},{{params.b}})"],
  [":a", "{{params.a}}"],
  ["a::INTEGER, $x::DATE", "a::INTEGER, {{params.x}}::DATE"],
  ["list[1:n], list[:n], {'a':b}, {'a': b}, x:y", "list[1:n], list[:n], {'a':b}, {'a': b}, x:y"],
  ["f(a := b)", "f(a := b)"],
  ["'$a :b' || \"$a :b\" -- $a :b\n/* $a :b */", "'$a :b' || \"$a :b\" -- $a :b\n/* $a :b */"],
  ["$$ :a $x $$", "$$ :a $x $$"],
  ["WHERE a = {{params.a}}\r\n", "WHERE a = {{params.a}}\r\n"],
  ["? and $", "? and $"],
])("%j becomes %j", (sql, expected) => {
  expect(withTags(sql, engine.dialect)).toBe(expected);
});
