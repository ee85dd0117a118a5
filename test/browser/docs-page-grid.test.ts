import { readFile } from "node:fs/promises";
import { tableFromIPC } from "apache-arrow";
import type { Page } from "playwright-core";
import { afterAll, describe, expect } from "vitest";
import { closeVisits, visit } from "./visit.ts";

afterAll(closeVisits);

const column = (page: Page, index: number) => page.locator(`.grid .row td[id]:nth-child(${index + 2})`).allInnerTexts();
const head = (page: Page, name: string) => page.locator(".grid thead button", { hasText: name });

describe("rows as a table", () => {
  visit("with types in the heading and values as they came", async ({ page, open, send }) => {
    await open("GET /customers");
    await send();
    const heads = await page.locator(".grid thead button").allInnerTexts();
    expect(heads.map((text) => text.split("\n"))).toEqual([
      ["id", "BIGINT"],
      ["name", "VARCHAR"],
      ["balance", "DECIMAL(12,3)"],
      ["region", "VARCHAR"],
      ["since", "DATE"],
      ["note", "VARCHAR"],
      ["tags", "VARCHAR[]"],
      ["address", "STRUCT(city VARCHAR, zip VARCHAR)"],
    ]);
    const cells = (row: number) => page.locator(".grid .row").nth(row).locator("td[id]");
    expect(await cells(0).allInnerTexts()).toEqual([
      "9007199254740993",
      "Customer 0",
      "29.990",
      "north",
      "2024-01-01",
      "NULL",
      '["a","b"]',
      '{"city":"Husum","zip":"00"}',
    ]);
    // NULL, the empty text and the word are three things.
    expect(await cells(0).nth(5).getAttribute("class")).toContain("null");
    expect([await cells(1).nth(5).textContent(), await cells(1).nth(5).getAttribute("class")]).toEqual([
      "",
      "is-string",
    ]);
    expect(await cells(2).nth(5).textContent()).toBe("first line⏎second line");
    expect(await cells(4).nth(1).textContent()).toBe("<b onclick=alert(1)>bold</b>");
    expect(await page.locator(".counted").textContent()).toBe("Rows 1 to 100 of 250");
  });

  visit("is sorted by a heading: up, down, and as it came", async ({ page, open, send }) => {
    await open("GET /customers");
    await page.getByLabel("limit", { exact: true }).fill("3");
    await send();
    const id = head(page, "id").first();
    await id.click();
    await id.click();
    expect(await column(page, 0)).toEqual(["9007199254740995", "9007199254740994", "9007199254740993"]);
    expect(await page.locator(".grid thead th[aria-sort=descending]").textContent()).toContain("id");
    // Rows keep their numbers.
    expect(await page.locator(".grid .row .row-number").allInnerTexts()).toEqual(["3", "2", "1"]);
    await id.click();
    expect(await column(page, 0)).toEqual(["9007199254740993", "9007199254740994", "9007199254740995"]);
    await head(page, "note").click();
    expect(await column(page, 5)).toEqual(["", "first line⏎second line", "NULL"]);
  });

  visit("goes to the next page and back", async ({ page, open, send }) => {
    await open("GET /customers");
    await page.getByLabel("region", { exact: true }).selectOption("south");
    await page.getByLabel("limit", { exact: true }).fill("30");
    await send();
    const [next, previous] = [
      page.getByRole("button", { name: "Next page" }),
      page.getByRole("button", { name: "Previous page" }),
    ];
    const counted = (text: string) => page.locator(".counted", { hasText: text }).waitFor();
    await counted("Rows 1 to 30 of 63");
    expect(await previous.isDisabled()).toBe(true);
    await next.click();
    await counted("Rows 31 to 60 of 63");
    expect(await page.locator(".asked").textContent()).toBe("GET /customers?region=south&limit=30&offset=30");
    expect(await page.locator(".grid .row .row-number").first().textContent()).toBe("31");
    await next.click();
    await counted("Rows 61 to 63 of 63");
    expect(await next.isDisabled()).toBe(true);
    await previous.click();
    await counted("Rows 31 to 60 of 63");
    await previous.click();
    await counted("Rows 1 to 30 of 63");
  });

  visit("goes back from a page with an offset", async ({ page, open, send }) => {
    await open("GET /customers");
    await page.getByLabel("limit", { exact: true }).fill("20");
    await page.getByLabel("offset", { exact: true }).fill("230");
    await send();
    await page.getByRole("button", { name: "Previous page" }).click();
    await page.locator(".counted", { hasText: "Rows 211 to 230 of 250" }).waitFor();
  });

  visit("shows a cell in full, by mouse and by keys", async ({ page, open, send }) => {
    await open("GET /customers");
    await send();
    await page.locator(".grid .row").nth(2).locator("td").nth(5).click();
    const detail = page.locator(".cell-detail");
    expect(await detail.locator("pre").textContent()).toBe("first line\nsecond line");
    await page.locator("table.grid").focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("End");
    expect(await detail.locator("strong").textContent()).toBe("address");
    expect(await detail.locator("pre").textContent()).toBe('{\n  "city": "Husum",\n  "zip": "03"\n}');
    await page.keyboard.press("Control+Home");
    expect(await detail.locator("pre").textContent()).toBe("9007199254740993");
    await page.keyboard.press("Control+End");
    expect(await detail.textContent()).toContain("row 100");
    const active = await page.locator("table.grid").getAttribute("aria-activedescendant");
    expect(await page.locator(`[id="${active}"]`).isVisible()).toBe(true);
    // The headings are reached by keys as well.
    await head(page, "id").first().focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    expect(await page.locator(".grid thead th[aria-sort=ascending]").textContent()).toContain("name");
  });

  visit("ten thousand rows are there, and only those in sight are drawn", async ({ page, open, send }) => {
    await open("GET /many");
    await send();
    expect(await page.locator(".counted").textContent()).toBe("10000 rows");
    const drawn = () => page.locator(".grid .row").count();
    expect(await drawn()).toBeLessThan(80);
    await page.locator(".grid thead button").nth(2).click();
    await page.locator(".grid thead button").nth(2).click();
    await page.evaluate('document.querySelector(".grid-box").scrollTop = 1e9');
    await page.locator(".grid .row[aria-rowindex='10001']").waitFor();
    expect(await drawn()).toBeLessThan(80);
    await page.evaluate(
      'document.querySelector(".grid-box").scrollTop = 4990 * document.querySelector(".grid .row").getBoundingClientRect().height',
    );
    await page.locator(".grid .row[aria-rowindex='5000']").waitFor();
    await page.getByRole("tab", { name: "Body" }).click();
    expect(await page.locator(".body-of .note").textContent()).toContain("Only the beginning is shown");
  });

  visit("an answer that is too large for a page says so", async ({ page, open, send }) => {
    await open("GET /many");
    await page.getByLabel("rows", { exact: true }).fill("400000");
    expect(await send()).toBe("200 OK");
    expect(await page.locator(".status-line").textContent()).toContain("more than");
    expect(await page.locator(".body-of .note").textContent()).toContain("larger than a page can show");
  });

  visit("no rows, and no columns", async ({ page, open, send }) => {
    await open("GET /many");
    await page.getByLabel("rows", { exact: true }).fill("0");
    await send();
    expect(await page.locator(".counted").textContent()).toBe("0 rows");
    expect(await page.locator(".grid thead button").count()).toBe(8);
  });
});

describe("downloads", () => {
  async function downloaded(page: Page, label: string): Promise<{ readonly name: string; readonly bytes: Buffer }> {
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("group", { name: "Download this page" }).getByRole("button", { name: label, exact: true }).click(),
    ]);
    return { name: file.suggestedFilename(), bytes: await readFile(await file.path()) };
  }

  visit("CSV, Arrow and Parquet of the page that is shown", async ({ page, open, send, shop }) => {
    await open("GET /customers");
    await page.getByLabel("limit", { exact: true }).fill("2");
    await page.getByLabel("name", { exact: true }).fill("Customer");
    await send();
    const csv = await downloaded(page, "CSV");
    expect(csv.name).toBe("customers.csv");
    const asked = await fetch(`${shop.url}/customers?name=Customer&limit=2&format=csv`);
    expect(csv.bytes.toString()).toBe(await asked.text());
    expect(csv.bytes.toString()).toContain("9007199254740993,Customer 0,29.990");
    const arrow = await downloaded(page, "Arrow");
    expect(arrow.name).toBe("customers.arrows");
    expect(tableFromIPC(arrow.bytes).getChild("id")?.get(0)).toBe(9007199254740993n);
    const parquet = await downloaded(page, "Parquet");
    expect([parquet.name, parquet.bytes.subarray(0, 4).toString()]).toEqual(["customers.parquet", "PAR1"]);
  });

  visit("go with the sign-in", async ({ page, open, send }) => {
    await open("GET /me");
    await page.getByLabel("User").fill("ärnst");
    await page.getByLabel("Password").fill("päss:wörd");
    await send();
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "CSV", exact: true }).click(),
    ]);
    expect(await readFile(await file.path(), "utf8")).toBe("username\r\närnst\r\n");
  });

  visit("what is no text is named and can be saved", async ({ page, open, send }) => {
    await open("GET /customers");
    await page.getByLabel("format", { exact: true }).selectOption("parquet");
    await send();
    expect(await page.locator(".body-of").textContent()).toContain("of application/vnd.apache.parquet");
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Save", exact: true }).click(),
    ]);
    expect((await readFile(await file.path())).subarray(-4).toString()).toBe("PAR1");
    await page.getByLabel("format", { exact: true }).selectOption("csv");
    await send();
    expect(await page.locator(".body-text").textContent()).toContain("9007199254740993,Customer 0,29.990");
  });
});
