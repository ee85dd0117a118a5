import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { openBrowser, testInBrowser } from "../browser.ts";
import { start } from "../process/program.ts";

const endpoint = (name: string): string =>
  `url-path: /${name}\ntemplate-source: ${name}.sql\nconnection: [memory]\nwith-pagination: false\n`;

testInBrowser("in dev the page shows what was saved, without being loaded again by hand", async () => {
  await using program = await start(
    {
      "eider.yaml": "http-port: 0\nconnections:\n  memory: {}\n",
      "first.yaml": endpoint("first"),
      "first.sql": "SELECT 1 AS a",
    },
    { args: ["dev"] },
  );
  const url = await program.url();
  const browser = await openBrowser();
  try {
    const page = await browser.newPage();
    const events = page.waitForRequest((request) => request.url().endsWith("/docs/events"));
    await page.goto(`${url}/docs`);
    await page.locator(".overview").waitFor();
    await events;
    expect(await page.locator(".entry-path").allInnerTexts()).toEqual(["/first"]);
    await writeFile(join(program.folder, "second.sql"), "SELECT 2 AS b");
    await writeFile(join(program.folder, "second.yaml"), endpoint("second"));
    await page.locator(".entry-path", { hasText: "/second" }).waitFor();
    expect(await page.locator(".entry-path").allInnerTexts()).toEqual(["/first", "/second"]);
  } finally {
    await browser.close();
  }
});
