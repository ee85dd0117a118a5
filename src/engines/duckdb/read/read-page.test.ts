import { expect, test } from "vitest";
import { allOrStop } from "./read-page.ts";

test("both results", async () => {
  const stopped: unknown[] = [];
  const works = [Promise.resolve("page"), Promise.resolve(7)] as const;
  expect(await allOrStop(works, (error) => stopped.push(error))).toEqual(["page", 7]);
  expect(stopped).toEqual([]);
});

test.each(["page", "count"])("if the %s fails, the other is stopped, and awaited", async (failed) => {
  const error = new Error("broken");
  const order: string[] = [];
  let end = (): void => {};
  const running = new Promise<void>((resolve) => {
    end = resolve;
  });
  const failing = Promise.reject(error);
  const works = failed === "page" ? ([failing, running] as const) : ([running, failing] as const);
  const both = allOrStop<unknown, unknown>(works, (reason) => {
    expect(reason).toBe(error);
    order.push("stopped");
    // An interrupted query ends later.
    setImmediate(() => {
      order.push("ended");
      end();
    });
  });
  await expect(both.finally(() => order.push("rejected"))).rejects.toBe(error);
  expect(order).toEqual(["stopped", "ended", "rejected"]);
});
