import { mkdir } from "node:fs/promises";
import type { Page } from "playwright-core";
import { afterAll, describe, expect } from "vitest";
import { until } from "../until.ts";
import { shopDocument } from "./shop-document.ts";
import { closeVisits, visit } from "./visit.ts";

afterAll(closeVisits);

/** Screenshots, on demand. */
const PICTURES = process.env["EIDER_TEST_PICTURES"];

async function picture(page: Page, name: string): Promise<void> {
  if (PICTURES === undefined) return;
  await mkdir(PICTURES, { recursive: true });
  await page.screenshot({ path: `${PICTURES}/${name}.png` });
}

const ground = (page: Page) => page.evaluate("getComputedStyle(document.documentElement).backgroundColor");
const LIGHT = "rgb(246, 248, 248)";
const DARK = "rgb(16, 22, 26)";

/** Texts whose contrast with what is behind them is below WCAG AA, each with its ratio. */
const FAINT = `(() => {
  const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((each) => each / 255).map((each) => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = (element) => {
    for (let each = element; each !== null; each = each.parentElement) {
      const colour = channels(getComputedStyle(each).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const faint = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== "");
    if (!own || !element.checkVisibility() || element.closest(":disabled, .hidden-text, .toast, [aria-hidden=true]")) continue;
    const [a, b] = [luminance(channels(getComputedStyle(element).color)), luminance(behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) faint.push(element.tagName + "." + element.className + ": " + element.textContent.slice(0, 20) + " " + ratio.toFixed(2));
  }
  return faint;
})()`;

/** Inputs and buttons that a screen reader could not name. */
const NAMELESS = `[...document.querySelectorAll("input, select, textarea, button")].filter((element) => {
  const named = element.labels?.length > 0 || element.getAttribute("aria-label") || element.textContent.trim();
  return element.checkVisibility() && !named;
}).map((element) => element.outerHTML)`;

const widerThanWindow = (page: Page) =>
  page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");

/** An endpoint with everything that it can show. */
async function showEverything(page: Page, send: () => Promise<string>): Promise<void> {
  await page.getByLabel("since", { exact: true }).fill("soon");
  await send();
  await page.getByLabel("since", { exact: true }).fill("2024-01-02");
  await send();
  await page.locator(".grid .row td").first().click();
  await page.locator("details.response summary").first().click();
}

describe("colours", () => {
  for (const [scheme, colour] of [
    ["light", LIGHT],
    ["dark", DARK],
  ] as const) {
    visit(
      `as the system says: ${scheme}, and every text can be read`,
      async ({ page, open, send }) => {
        await open();
        await picture(page, `desktop-${scheme}-overview`);
        expect(await ground(page)).toBe(colour);
        expect(await page.evaluate(FAINT)).toEqual([]);
        await open("GET /customers");
        await showEverything(page, send);
        await picture(page, `desktop-${scheme}-table`);
        expect(await page.evaluate(FAINT)).toEqual([]);
        expect(await page.evaluate(NAMELESS)).toEqual([]);
        await page.getByRole("tab", { name: "Body" }).click();
        expect(await page.evaluate(FAINT)).toEqual([]);
        await open("GET /customers/{id}");
        await page.getByLabel("id", { exact: true }).fill("9007199254740998");
        await send();
        await picture(page, `desktop-${scheme}-object`);
        expect(await page.evaluate(FAINT)).toEqual([]);
        await open("POST /orders");
        await picture(page, `desktop-${scheme}-write`);
        expect(await page.evaluate(FAINT)).toEqual([]);
        expect(await page.evaluate(NAMELESS)).toEqual([]);
        await page.locator("button.send").click();
        expect(await page.evaluate(FAINT)).toEqual([]);
      },
      { colorScheme: scheme, reducedMotion: "reduce", viewport: { width: 1440, height: 900 } },
    );
  }

  visit(
    "are chosen by a switch, and the choice is kept",
    async ({ page, open }) => {
      await open();
      expect(await ground(page)).toBe(DARK);
      await page.getByRole("radio", { name: "Light" }).check();
      expect(await ground(page)).toBe(LIGHT);
      await page.reload();
      expect(await ground(page)).toBe(LIGHT);
      expect(await page.getByRole("radio", { name: "Light" }).isChecked()).toBe(true);
      await page.getByRole("radio", { name: "System" }).check();
      expect(await ground(page)).toBe(DARK);
      expect(await page.evaluate("localStorage.length")).toBe(0);
    },
    { colorScheme: "dark" },
  );
});

describe("a telephone", () => {
  visit(
    "nothing is wider than the window, and the way to an endpoint and back is short",
    async ({ page, open, send }) => {
      await open();
      await picture(page, "phone-overview");
      expect(await widerThanWindow(page)).toBe(0);
      await page.locator(".entry").first().tap();
      await page.locator(".operation").waitFor();
      expect(await page.locator("nav.list").isVisible()).toBe(false);
      await picture(page, "phone-endpoint");
      await showEverything(page, send);
      await picture(page, "phone-table");
      expect(await widerThanWindow(page)).toBe(0);
      const box = page.locator(".grid-box");
      expect(await box.evaluate((each) => each.scrollWidth > each.clientWidth)).toBe(true);
      await open("GET /customers/{id}");
      await page.getByLabel("id", { exact: true }).fill("9007199254740998");
      await send();
      await picture(page, "phone-object");
      const widthOf = async (cell: string) => (await page.locator(`.record ${cell}`).first().boundingBox())?.width ?? 0;
      expect(await widthOf("td")).toBeGreaterThan(await widthOf("th"));
      expect(await widerThanWindow(page)).toBe(0);
      await open("GET /evil");
      await send();
      expect(await widerThanWindow(page)).toBe(0);
      await page.getByRole("link", { name: "All endpoints" }).tap();
      await page.locator("nav.list").waitFor();
    },
    { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 },
  );
});

visit("hostile names, texts and values are shown and nothing more", async ({ page, open, send }) => {
  const evil = '<img src=x onerror="window.hacked=1">';
  await open("GET /evil");
  expect(await page.locator("h1").textContent()).toBe(evil);
  expect(await page.locator(".operation-head .prose").textContent()).toContain("<script>window.hacked=1</script>");
  await page.getByRole("textbox", { name: evil }).fill(`'"><script>window.hacked=1</script>`);
  await page.getByLabel("__proto__", { exact: true }).selectOption(evil);
  for (const summary of await page.locator("details.response summary").all()) await summary.click();
  expect(await send()).toBe("200 OK");
  expect(await page.locator(".grid .column-name").textContent()).toBe(evil);
  expect(await page.locator(".grid .row td").first().textContent()).toBe(evil);
  await page.locator(".grid .row td").first().click();
  for (const tab of ["JavaScript", "Python", "Body", "Headers"]) await page.getByRole("tab", { name: tab }).click();
  expect(
    await page.evaluate("[window.hacked, {}.hacked, document.querySelectorAll('main img, main script').length]"),
  ).toEqual([undefined, undefined, 0]);
});

describe("while the project is edited", () => {
  visit("a change is shown at once, and nothing that was typed is lost", async ({ page, open, send, shop }) => {
    const live = { "x-eider-events": "/docs/events" };
    shop.setDocument(shopDocument(live));
    await open("GET /customers");
    await page.getByText("live", { exact: true }).waitFor();
    await until("a page that listens", () => shop.listeners() === 1);
    await page.getByLabel("region", { exact: true }).selectOption("west");
    await send();
    const name = page.getByLabel("name", { exact: true });
    await name.pressSequentially("Custmer");
    for (let i = 0; i < 3; i += 1) await page.keyboard.press("ArrowLeft");
    const changed = shopDocument(live);
    const paths = Object(changed["paths"]);
    shop.setDocument({
      ...changed,
      info: { title: "Shop", version: "1.5.0" },
      paths: { ...paths, "/new": { get: { tags: ["customers"], summary: "Something new", responses: {} } } },
    });
    shop.tellChange();
    await page.getByText("Something new").waitFor();
    expect(await page.locator("#brand-version").textContent()).toBe("1.5.0");
    expect(await page.getByLabel("region", { exact: true }).inputValue()).toBe("west");
    expect(await page.locator(".grid .row").first().isVisible()).toBe(true);
    // The cursor is where it was.
    await page.keyboard.type("o");
    expect(await name.inputValue()).toBe("Customer");
    shop.setDocument({ ...changed, paths: {} });
    shop.tellChange();
    await page.getByText("No endpoints yet.").waitFor();
    shop.setDocument(changed);
    shop.tellChange();
    await name.waitFor();
    expect(await name.inputValue()).toBe("Customer");
  });

  visit("without events the page does not listen", async ({ page, open, shop }) => {
    await open();
    expect(shop.listeners()).toBe(0);
    expect(await page.locator("#live").isVisible()).toBe(false);
  });
});

visit("an unavailable document is reported, and can be loaded again", async ({ page, shop }) => {
  let fails = true;
  await page.route("**/openapi.json", (route) =>
    fails ? route.fulfill({ status: 503, body: "{}" }) : route.continue(),
  );
  await page.goto(`${shop.url}/docs`);
  await page.getByText("the service returned 503").waitFor();
  fails = false;
  await page.getByRole("button", { name: "Try again" }).click();
  await page.locator(".overview").waitFor();
});

visit("a request can be cancelled, and one that fails says so", async ({ page, open }) => {
  await open("GET /echo");
  await page.route("**/echo", () => {});
  await page.locator("button.send").click();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByText("Request cancelled.").waitFor();
  expect(await page.locator("button.send").isEnabled()).toBe(true);
});

visit("a thousand endpoints are listed and filtered without waiting", async ({ page, shop, open }) => {
  const paths = Object.fromEntries(
    Array.from({ length: 1000 }, (_, i) => [`/path-${i}`, { get: { tags: [`tag-${i % 20}`], responses: {} } }]),
  );
  shop.setDocument({ ...shopDocument(), paths });
  await open();
  expect(await page.locator(".entry").count()).toBe(1000);
  await page.locator("#filter").fill("path-777");
  expect(await page.locator(".entry:visible").count()).toBe(1);
  await page.locator("#filter").fill("path");
  expect(await page.locator(".entry:visible").count()).toBe(1000);
});
