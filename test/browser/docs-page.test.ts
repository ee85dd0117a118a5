import { afterAll, describe, expect } from "vitest";
import { TOKEN } from "./shop.ts";
import { closeVisits, visit } from "./visit.ts";

afterAll(closeVisits);

describe("the list", () => {
  visit("opens, and shows the endpoints by tag", async ({ page, open }) => {
    await open();
    expect(await page.title()).toBe("Shop");
    expect(await page.locator("h1").textContent()).toContain("Shop");
    expect(await page.locator("nav h2").allInnerTexts()).toEqual([
      "customers",
      "orders",
      "account",
      "measurements",
      '<img src=x onerror="window.hacked=1">',
    ]);
    const entries = page.locator("section[aria-labelledby=group-0] .entry");
    expect(await entries.locator(".method").allInnerTexts()).toEqual(["GET", "GET", "DELETE"]);
    expect(await entries.locator(".entry-path").allInnerTexts()).toEqual([
      "/customers",
      "/customers/{id}",
      "/customers/{id}",
    ]);
  });

  visit("is filtered by words of the path, the method and the description", async ({ page, open }) => {
    await open();
    const shown = () => page.locator(".entry:visible .entry-path").allInnerTexts();
    await page.keyboard.press("/");
    await page.keyboard.type("get CUSTOMERS");
    expect(await shown()).toEqual(["/customers", "/customers/{id}"]);
    expect(await page.locator("#found").textContent()).toBe("2 of 10 endpoints");
    await page.locator("#filter").fill("bought something");
    expect(await shown()).toEqual(["/customers"]);
    await page.locator("#filter").fill("nothing like it");
    expect(await page.getByText("No endpoint matches.").isVisible()).toBe(true);
    await page.locator("#filter").fill("robot");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Which token was sent" }).waitFor();
    expect(await page.locator(".entry[aria-current=page] .entry-path").textContent()).toBe("/robot");
  });

  visit("an address that leads nowhere says so, and the way back works", async ({ page, open }) => {
    await open();
    await page.goto(`${page.url()}#GET%20%2Fgone`);
    await page.getByText("not found. It may have been renamed or removed").waitFor();
    await page.goto(`${page.url().split("#")[0]}#%E0%A4%A`);
    await page.getByText("not found. It may have been renamed or removed").waitFor();
    await page.locator("#brand").click();
    await page.locator(".first-call").waitFor();
    expect(await page.getByText("Endpoint not found").count()).toBe(0);
  });
});

describe("an endpoint", () => {
  visit("shows what it takes and what it answers", async ({ page, open }) => {
    await open("GET /customers");
    expect(await page.locator("h1").textContent()).toBe("Customers, newest first");
    const region = page.getByLabel("region", { exact: true });
    expect(await region.locator("option").allInnerTexts()).toEqual(["not sent", "north", "south", "east", "west"]);
    const limit = page.locator(".field").filter({ has: page.getByLabel("limit", { exact: true }) });
    expect(await limit.textContent()).toMatch(/limit\s*integer\s*How many rows at most\s*0 to 10000\s*Default 100/);
    await page.locator("details.response summary").first().click();
    const rows = await page.locator("details.response[open] .schema").first().locator("tr").allInnerTexts();
    expect(rows.map((row) => row.replaceAll(/\s+/g, " "))).toContain("balance DECIMAL(12,3)");
  });

  visit("sends a request with a parameter and shows the answer", async ({ page, open, send }) => {
    await open("GET /customers");
    await page.getByLabel("region", { exact: true }).selectOption("south");
    await page.getByLabel("name", { exact: true }).fill("Customer 1");
    expect(await send()).toBe("200 OK");
    expect(await page.locator(".asked").textContent()).toBe("GET /customers?region=south&name=Customer%201");
    expect(await page.locator(".grid .row").first().locator("td").nth(1).textContent()).toBe("Customer 1");
    await page.getByRole("tab", { name: "Headers" }).click();
    expect(await page.locator("table.headers").textContent()).toMatch(/content-type\s*application\/json/);
    await page.getByRole("tab", { name: "Body" }).click();
    const body = await page.locator(".body-text").textContent();
    expect(body).toContain('\n      "id": 9007199254740994,\n');
    expect(body).toContain('"balance": 30.990,');
  });

  visit("shows a 400 with the message beside the field", async ({ page, open, send }) => {
    await open("GET /customers");
    await page.getByLabel("since", { exact: true }).fill("yesterday");
    await page.getByLabel("min-id", { exact: true }).fill("0");
    expect(await send()).toBe("400 Bad Request");
    const wrong = page.locator(".field.wrong");
    expect(await wrong.locator(".field-name").allInnerTexts()).toEqual(["since", "min-id"]);
    expect(await wrong.locator(".problem").allInnerTexts()).toEqual([
      "Invalid date format",
      "Integer is less than the minimum allowed value",
    ]);
    const since = page.getByLabel("since", { exact: true });
    expect(await since.getAttribute("aria-invalid")).toBe("true");
    expect(await since.evaluate((input) => input === input.ownerDocument.activeElement)).toBe(true);
    await since.fill("2024-01-05");
    expect(await page.locator(".field.wrong .field-name").allInnerTexts()).toEqual(["min-id"]);
  });

  visit("a path needs its value before anything is sent", async ({ page, open, send }) => {
    await open("GET /customers/{id}");
    await page.locator("button.send").click();
    expect(await page.locator(".field.wrong .problem").textContent()).toBe("A path parameter needs a value");
    expect(await page.locator(".status-line").count()).toBe(0);
    await page.getByLabel("id", { exact: true }).fill("9007199254740995");
    expect(await send()).toBe("200 OK");
    expect(await page.locator(".asked").textContent()).toBe("GET /customers/9007199254740995");
  });

  visit("one object is a list of its fields", async ({ page, open, send }) => {
    await open("GET /customers/{id}");
    await page.getByLabel("id", { exact: true }).fill("9007199254740998");
    expect(await send()).toBe("200 OK");
    expect(await page.getByRole("tab", { name: "Object" }).getAttribute("aria-selected")).toBe("true");
    const lines = await page.locator(".record tr").allInnerTexts();
    expect(lines.map((line) => line.replaceAll(/\s+/g, " "))).toEqual([
      "id BIGINT 9007199254740998",
      "name VARCHAR Customer 5",
      "balance DECIMAL(12,3) 34.990",
      "region VARCHAR south",
      "since DATE 2024-01-06",
      "note VARCHAR first line second line",
      'tags VARCHAR[] [ "a", "b" ]',
      'address STRUCT(city VARCHAR, zip VARCHAR) { "city": "Husum", "zip": "05" }',
    ]);
    await page.getByLabel("id", { exact: true }).fill("7");
    expect(await send()).toBe("404 Not Found");
    expect(await page.locator(".problems").textContent()).toBe("Not Found");
    expect(await page.getByRole("tab").allInnerTexts()).not.toContain("Object");
  });

  visit("an empty text and no text are two things; headers are sent too", async ({ page, open, send }) => {
    await open("GET /echo");
    const cells = async () => page.locator(".grid .row td[id]").allInnerTexts();
    expect(await send()).toBe("200 OK");
    expect(await cells()).toEqual(["NULL", "NULL"]);
    await page.getByLabel("Send text").check();
    await page.getByLabel("X-Note", { exact: true }).fill("naïve");
    expect(await send()).toBe("200 OK");
    expect(await page.locator(".asked").textContent()).toBe("GET /echo?text=");
    expect((await cells())[0]).toBe("");
    await page.getByLabel("text", { exact: true }).fill("O'Brien & <co>");
    await page.keyboard.press("Control+Enter");
    await page.locator(".asked").filter({ hasText: "Brien" }).waitFor();
    expect((await cells())[0]).toBe("O'Brien & <co>");
  });
});

describe("signing in", () => {
  visit("with user and password", async ({ page, open, send }) => {
    await open("GET /me");
    expect(await send()).toBe("401 Unauthorized");
    expect(await page.getByText("Authentication required.").isVisible()).toBe(true);
    await page.getByLabel("User").fill("ärnst");
    await page.getByLabel("Password").fill("wrong");
    expect(await send()).toBe("401 Unauthorized");
    expect(await page.getByText("Credentials rejected.").isVisible()).toBe(true);
    await page.getByLabel("Password").fill("päss:wörd");
    expect(await send()).toBe("200 OK");
    expect(await page.locator(".grid .row td").first().textContent()).toBe("ärnst");
    expect(await page.locator(".snippet").allTextContents()).not.toContain("päss:wörd");
  });

  visit("with a token, which no other endpoint gets and nothing stores", async ({ page, open, send }) => {
    await open("GET /robot");
    await page.getByLabel("Token").fill(TOKEN);
    expect(await send()).toBe("200 OK");
    expect(await page.locator(".grid .row td").first().textContent()).toBe("robot");
    const [sent] = await Promise.all([
      page.waitForRequest(/\/customers$/),
      page
        .locator(".entry", { hasText: "Customers, newest first" })
        .click()
        .then(() => page.locator("button.send").click()),
    ]);
    expect(await sent.headerValue("authorization")).toBe(null);
    const kept = await page.evaluate(
      "JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href])",
    );
    expect(kept).not.toContain(TOKEN);
    await page.reload();
    await open("GET /robot");
    expect(await page.getByLabel("Token").inputValue()).toBe("");
  });

  visit("to a document that is itself protected", async ({ page, shop }) => {
    shop.protect(`Basic ${Buffer.from("ärnst:geheim").toString("base64")}`);
    await page.goto(`${shop.url}/docs`);
    await page.getByText("This documentation is protected.").waitFor();
    await page.getByLabel("User").fill("ärnst");
    await page.getByLabel("Password").fill("falsch");
    await page.getByRole("button", { name: "Show documentation" }).click();
    await page.getByText("Credentials rejected.").waitFor();
    await page.getByLabel("User").fill("ärnst");
    await page.getByLabel("Password").fill("geheim");
    await page.keyboard.press("Enter");
    await page.locator(".overview").waitFor();
    // Who is known already need not sign in again.
    await page.locator(".entry", { hasText: "/me" }).click();
    expect(await page.getByLabel("User").inputValue()).toBe("ärnst");
    await page.locator(".entry", { hasText: "/robot" }).click();
    expect(await page.getByLabel("Token").inputValue()).toBe("");
  });
});

describe("an endpoint that changes data", () => {
  visit("asks first, and does nothing when told not to", async ({ page, open }) => {
    await open("POST /orders");
    const posts: string[] = [];
    page.on("request", (request) => request.method() === "POST" && posts.push(request.url()));
    await page.locator("button.send").click();
    const dialog = page.getByRole("dialog");
    expect(await dialog.textContent()).toContain("This changes data in the running service.");
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await page.locator("button.send").click();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    expect(posts).toEqual([]);
  });

  visit("sends every digit that was typed", async ({ page, open }) => {
    await open("POST /orders");
    await page.getByLabel("User").fill("ärnst");
    await page.getByLabel("Password").fill("päss:wörd");
    await page.getByLabel("customer", { exact: true }).fill("9007199254740993");
    await page.getByLabel("amount", { exact: true }).fill("12345678901234567.125");
    await page.getByLabel("extra", { exact: true }).fill('{"deep": [1.50]}');
    await page.locator("button.send").click();
    const dialog = page.getByRole("dialog");
    expect(await dialog.textContent()).toContain('"amount": 12345678901234567.125');
    await dialog.getByRole("button", { name: "Send POST" }).click();
    expect(await page.locator(".status-line .status").textContent()).toBe("200 OK");
    await open("GET /orders");
    await page.locator("button.send").click();
    const row = page.locator(".grid .row").last().locator("td[id]");
    await row.first().waitFor();
    expect(await row.allInnerTexts()).toEqual([
      "9007199254740993",
      "12345678901234567.125",
      "NULL",
      '{"deep": [1.50]}',
    ]);
  });

  visit("takes its body as JSON, as it is typed", async ({ page, open }) => {
    await open("POST /orders");
    await page.getByLabel("amount", { exact: true }).fill("1.10");
    await page.getByRole("tab", { name: "JSON" }).click();
    const area = page.getByLabel("Body as JSON");
    expect(await area.inputValue()).toBe('{\n  "amount": 1.10\n}');
    await area.fill('{"amount": 1.10,');
    await page.getByLabel("User").fill("ärnst");
    await page.getByLabel("Password").fill("päss:wörd");
    await page.locator("button.send").click();
    await page.getByRole("dialog").getByRole("button", { name: "Send POST" }).click();
    expect(await page.locator(".status-line .status").textContent()).toBe("400 Bad Request");
    expect(await page.locator(".received .problems").textContent()).toContain("body");
  });
});

describe("snippets", () => {
  visit(
    "are copied, and do what the form does",
    async ({ page, open, shop }) => {
      await open("GET /echo");
      const hostile = 'it\'s "$(x)" `y` $\u007bz} \\ 日本';
      await page.getByLabel("text", { exact: true }).fill(hostile);
      await page.getByRole("tab", { name: "JavaScript" }).click();
      await page.locator(".snippets").getByRole("button", { name: "Copy" }).click();
      await page.getByText("Copied").waitFor();
      const snippet = String(await page.evaluate("navigator.clipboard.readText()"));
      expect(snippet).toContain(`${shop.url}/echo?text=`);
      const printed: unknown[] = [];
      const AsyncFunction: FunctionConstructor = Object.getPrototypeOf(async () => {}).constructor;
      await new AsyncFunction("console", snippet)({ log: (...words: unknown[]) => printed.push(...words) });
      expect(printed).toEqual([200, JSON.stringify([{ text: hostile, note: null }])]);
      await open("GET /customers");
      expect(await page.getByRole("tab", { name: "JavaScript" }).getAttribute("aria-selected")).toBe("true");
    },
    { permissions: ["clipboard-read", "clipboard-write"] },
  );

  visit("leave a place for what is not filled in", async ({ page, open, shop }) => {
    await open("GET /customers/{id}");
    expect(await page.locator(".snippet").first().textContent()).toContain(`'${shop.url}/customers/{id}'`);
    await open("GET /robot");
    expect(await page.locator(".snippet").first().textContent()).toContain('-H "Authorization: Bearer $TOKEN"');
  });
});
