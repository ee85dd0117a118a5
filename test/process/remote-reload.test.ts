import { expect } from "vitest";
import { extensionDirectory, missingExtensions } from "../extensions.ts";
import { testNeeding } from "../needing.ts";
import { until } from "../until.ts";
import { startWebFiles } from "../web-files.ts";
import { start } from "./program.ts";

const testWithHttp = testNeeding(missingExtensions("httpfs"));

testWithHttp("a reload reads remote templates again; one that is gone keeps the previous version", async () => {
  await using web = await startWebFiles({ "/x.sql": "SELECT 1 AS a" });
  const yaml = `template-source: ${web.url}/x.sql?sig=s1gn4ture\nconnection: memory\nwith-pagination: false\n`;
  await using program = await start({
    "eider.yaml": `http-port: 0\nconnections: { memory: {} }\nduckdb: { extension_directory: ${extensionDirectory("httpfs")} }\n`,
    "x.yaml": `url-path: /x\n${yaml}`,
  });
  const url = await program.url();
  const rows = async (): Promise<string> => (await fetch(`${url}/x`)).text();
  expect(await rows()).toBe('[{"a":1}]');
  web.files.set("/x.sql", "SELECT 2 AS a");
  program.signal("SIGHUP");
  await until("the new template", async () => (await rows()) === '[{"a":2}]' || undefined);
  web.files.delete("/x.sql");
  program.signal("SIGHUP");
  await until("the problem", () =>
    /x\.yaml:2:18: .*Template file not found: http.*\/x\.sql\?\*\*\*$/m.exec(program.stderr()),
  );
  await until("the refusal", () => /reload failed/.exec(program.stderr()));
  expect(await rows()).toBe('[{"a":2}]');
  web.files.set("/x.sql", "SELECT 3 AS a");
  program.signal("SIGHUP");
  await until("the template that is back", async () => (await rows()) === '[{"a":3}]' || undefined);
  expect(program.stderr()).not.toContain("s1gn4ture");
});
