import type { Report } from "../events.ts";
import type { RequestHandler } from "../http/listen.ts";
import { requestIdOf } from "../http/request-id.ts";
import { type AdminPage, type AdminParts, jsonPage, pageAt, pageMethods, sendPage } from "./pages.ts";

/** Handles the requests of the `admin` listener. */
export function openAdminApp(parts: () => AdminParts, report: Report): RequestHandler {
  return (request, response) => {
    const requestId = requestIdOf(request.headers["x-request-id"]);
    const [path = ""] = (request.url ?? "").split("?", 1);
    const send = (page: AdminPage): void => {
      if (!response.destroyed) sendPage({ response, requestId }, page);
    };
    const fail = (error: unknown): void => {
      report({ kind: "unexpected", requestId, error });
      send(jsonPage(500, { error: "Internal Server Error" }));
    };
    try {
      const page = pageAt(path, parts());
      if (page === undefined) return send(jsonPage(404, { error: "Not Found" }));
      if (request.method === "GET" || request.method === "HEAD") {
        if (page instanceof Promise) void page.then(send).catch(fail);
        else send(page);
        return;
      }
      // The page is not sent, but may still fail.
      if (page instanceof Promise) page.catch(() => {});
      response.setHeader("Allow", pageMethods.join(", "));
      if (request.method === "OPTIONS") response.writeHead(204, { "X-Request-Id": requestId }).end();
      else send(jsonPage(405, { error: "Method Not Allowed" }));
    } catch (error) {
      fail(error);
    }
  };
}
