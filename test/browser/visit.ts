import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { expect } from "vitest";
import { openBrowser, testInBrowser } from "../browser.ts";
import { until } from "../until.ts";
import { openShop, type Shop } from "./shop.ts";

export interface Visit {
  readonly page: Page;
  readonly shop: Shop;
  /** Opens the page at an endpoint, `GET /customers`, or at its overview. */
  open(operation?: string): Promise<void>;
  /** Presses the button and waits for the answer's status. */
  send(): Promise<string>;
}

/** What is open while a file's tests run: one browser, one service, and a page for visits that want nothing special of theirs. */
const opened: {
  browser?: Promise<Browser> | undefined;
  shop?: Promise<Shop> | undefined;
  page?: Promise<WatchedPage> | undefined;
} = {};

/** For `afterAll` of every file: the files of a worker share this module. */
export async function closeVisits(): Promise<void> {
  const { browser, shop } = opened;
  opened.browser = undefined;
  opened.shop = undefined;
  opened.page = undefined;
  await (await browser)?.close();
  await (await shop)?.[Symbol.asyncDispose]();
}

interface WatchedPage {
  readonly page: Page;
  readonly hosts: Set<string>;
  readonly errors: string[];
}

async function openPage(browser: Browser, options: BrowserContextOptions): Promise<WatchedPage> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(120_000);
  const hosts = new Set<string>();
  const errors: string[] = [];
  page.on("request", (request) => hosts.add(new URL(request.url()).origin));
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => {
    const isStatus = message.text().startsWith("Failed to load resource: the server responded with a status of");
    if (message.type() === "error" && !isStatus) errors.push(message.text());
  });
  await page.exposeFunction("tellViolation", (what: string) => errors.push(what));
  await page.addInitScript(
    `document.addEventListener("securitypolicyviolation", (event) => tellViolation("policy: " + event.violatedDirective + " " + event.blockedURI));`,
  );
  return { page, hosts, errors };
}

/** As if nobody had been here: nothing is stored, shown, routed or listened to. */
async function leave({ page, hosts, errors }: WatchedPage, shop: Shop): Promise<void> {
  await page.unrouteAll();
  await page.evaluate("localStorage.clear(), sessionStorage.clear()");
  await page.goto("about:blank");
  await until("the end of what the page listened to", () => shop.listeners() === 0);
  hosts.clear();
  errors.length = 0;
}

/**
 * A test with a page as if it were its own. Whatever it does: no request leaves for another host, the policy has nothing
 * to object to, and the console shows no error but the statuses that the test provokes.
 */
export function visit(name: string, run: (visit: Visit) => Promise<void>, options?: BrowserContextOptions): void {
  testInBrowser(name, async () => {
    opened.shop ??= openShop();
    opened.browser ??= openBrowser();
    const [shop, browser] = await Promise.all([opened.shop, opened.browser]);
    shop.reset();
    if (options === undefined) opened.page ??= openPage(browser, {});
    const watched = await (options === undefined ? opened.page : openPage(browser, options));
    if (watched === undefined) throw new Error("no page");
    const { page, hosts, errors } = watched;
    let isDone = false;
    try {
      await run(visitOf(page, shop));
      expect([...hosts].filter((host) => !host.startsWith("blob:") && host !== shop.url)).toEqual([]);
      expect(errors).toEqual([]);
      isDone = true;
    } finally {
      if (isDone && options === undefined) await leave(watched, shop);
      else {
        // What a failure leaves behind is nobody else's.
        if (options === undefined) opened.page = undefined;
        await page.context().close();
      }
    }
  });
}

function visitOf(page: Page, shop: Shop): Visit {
  return {
    page,
    shop,
    async open(operation) {
      await page.goto(`${shop.url}/docs${operation === undefined ? "" : `#${encodeURIComponent(operation)}`}`);
      await page.locator(operation === undefined ? ".overview" : ".operation").waitFor();
    },
    async send() {
      // The answer before this one is not mistaken for it.
      await page.evaluate('document.querySelector(".status-line")?.setAttribute("data-seen", "")');
      await page.locator("button.send").click();
      return (await page.locator(".status-line:not([data-seen]) .status").textContent()) ?? "";
    },
  };
}
