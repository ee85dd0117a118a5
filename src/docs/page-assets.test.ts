import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { openDocsPage, pageHeaders } from "./page-assets.ts";

const { html, assets } = await openDocsPage();
const text = html.body.toString();
const paths = assets.map(({ path }) => path);

test("every link of the page is one of its files, and is named by their hash", () => {
  const links = [...text.matchAll(/ (?:src|href)="([^"#]+)"/g)].map(([, link]) => `/${link}`);
  expect(links.length).toBeGreaterThan(20);
  expect(links.filter((link) => !paths.includes(link) && link !== "/openapi.json")).toEqual([]);
  for (const path of paths) expect(path).toMatch(/^\/docs\/assets\/[0-9a-f]{16}\/[a-z-]+\.(js|css|svg)$/);
  expect(new Set(paths.map((path) => path.split("/")[3])).size).toBe(1);
});

test("every module imports modules that are there, and each is named ahead", () => {
  for (const { path, body } of assets.filter(({ path }) => path.endsWith(".js"))) {
    const imports = [...body.toString().matchAll(/from "\.\/([^"]+)"/g)].map(([, name]) => name);
    for (const name of imports) expect(paths).toContain(path.replace(/[^/]+$/, `${name}`));
    if (!path.endsWith("theme-first.js")) expect(text).toContain(`<link rel="modulepreload" href="${path.slice(1)}">`);
  }
});

test("there is nothing that the policy forbids: no script or style in the page, no other host, no HTML from text", () => {
  expect(text).not.toMatch(/<script(?![^>]* src=)|<style| style=| on[a-z]+=/);
  for (const { path, body } of [html, ...assets]) {
    const source = body.toString().replaceAll('xmlns="http://www.w3.org/2000/svg"', "");
    expect([path, source.match(/https?:\/\/[^\s"'`]+/g)]).toEqual([path, null]);
    expect([
      path,
      /\.innerHTML|\.outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/.test(source),
    ]).toEqual([path, false]);
  }
  expect(pageHeaders["Content-Security-Policy"]).toContain(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  );
});

test("it is small", () => {
  const compressed = [html, ...assets].map(({ body }) => gzipSync(body).length);
  expect(compressed.reduce((sum, size) => sum + size, 0)).toBeLessThan(60_000);
});

test("tests stay out of it, and each file has a type and a hash of its own", () => {
  expect(paths.filter((path) => path.includes("test"))).toEqual([]);
  expect(new Set(assets.map(({ hash }) => hash)).size).toBe(assets.length);
  expect(html).toMatchObject({ path: "/docs", contentType: "text/html; charset=utf-8" });
  expect(new Set(assets.map(({ contentType }) => contentType))).toEqual(
    new Set(["text/css; charset=utf-8", "text/javascript; charset=utf-8", "image/svg+xml"]),
  );
});
