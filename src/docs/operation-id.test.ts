import { expect, test } from "vitest";
import type { Method } from "../config/schema/endpoint.ts";
import type { Route } from "../endpoint/endpoint.ts";
import { operationIds } from "./operation-id.ts";

function route(method: Method, path: string): Route {
  const segments = path
    .split("/")
    .filter((text) => text !== "")
    .map((text) =>
      text.startsWith(":") ? ({ kind: "param", name: text.slice(1) } as const) : ({ kind: "text", text } as const),
    );
  return { method, path, segments };
}

test.each<[Method, string, string]>([
  ["GET", "/", "getRoot"],
  ["GET", "/customers", "getCustomers"],
  ["GET", "/customers/:id", "getCustomersById"],
  ["DELETE", "/customers/:id/open-orders/:order_id", "deleteCustomersByIdOpenOrdersByOrderId"],
  ["POST", "/v1.0/a_b", "postV10AB"],
  ["PUT", "/日本", "putRoot"],
])("%s %s is %s", (method, path, id) => expect(operationIds([route(method, path)])).toEqual([id]));

test("of those that would be the same the later ones get a number, whatever the order of the files", () => {
  const routes = ["/a_b", "/a-b", "/a/b", "/ab"].map((path) => route("GET", path));
  expect(operationIds(routes)).toEqual(["getAB_3", "getAB", "getAB_2", "getAb"]);
  expect(operationIds(routes.toReversed())).toEqual(["getAb", "getAB_2", "getAB", "getAB_3"]);
});
