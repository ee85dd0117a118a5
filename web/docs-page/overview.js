import { copyButton, el, paragraphs } from "./dom.js";
import { requestOf } from "./request.js";
import { hashOf } from "./sidebar.js";
import { LANGUAGES } from "./snippets.js";

const KINDS = { basic: "User name and password", bearer: "Token" };

/** The page without a chosen endpoint. */
export function overviewOf(api, { root, isUnknown }) {
  const count = api.operations.size;
  const schemes = [...api.schemes.values()];
  const link = (file, label) => el("a", { href: new URL(file, root).href }, label);
  return el(
    "article",
    { class: "overview" },
    isUnknown && el("p", { class: "note" }, "Endpoint not found. It may have been renamed or removed."),
    el("h1", {}, api.title, api.version !== "" && el("span", { class: "version" }, api.version)),
    api.description !== "" && paragraphs(api.description),
    el(
      "dl",
      { class: "overview-facts" },
      el("div", {}, el("dt", {}, "URL"), el("dd", {}, el("code", {}, root.href.replace(/\/$/, "")))),
      el("div", {}, el("dt", {}, "Endpoints"), el("dd", {}, String(count))),
      el(
        "div",
        {},
        el("dt", {}, "Document"),
        el("dd", {}, link("openapi.json", "OpenAPI as JSON"), ", ", link("openapi.yaml", "as YAML")),
      ),
      schemes.length > 0 &&
        el(
          "div",
          {},
          el("dt", {}, "Sign-in"),
          schemes.map(({ name, kind, description }) =>
            el("dd", {}, el("code", {}, name), ` ${description || KINDS[kind]}`),
          ),
        ),
    ),
    count === 0
      ? el("p", { class: "note" }, "No endpoints yet. Add a YAML file with a url-path.")
      : firstCall(api, root),
  );
}

/** A command for the first endpoint that needs neither parameters nor sign-in. */
function firstCall(api, root) {
  const operation = [...api.operations.values()].find(
    ({ method, params, security, deprecated }) =>
      method === "GET" && !deprecated && security.length === 0 && !params.some(({ required }) => required),
  );
  const advice = "Choose an endpoint to see its parameters and try it.";
  if (operation === undefined) return el("p", { class: "muted choose" }, advice);
  const { request } = requestOf(operation, { values: new Map() }, { root });
  const command = LANGUAGES[0].write(request);
  return el(
    "section",
    { class: "first-call", "aria-labelledby": "first-call" },
    el("h2", { id: "first-call" }, "First request"),
    el(
      "div",
      { class: "command" },
      el("pre", { class: "code", tabindex: "0" }, command),
      copyButton(() => command),
    ),
    el(
      "p",
      { class: "muted" },
      "Or try ",
      el("a", { href: hashOf(operation) }, operation.summary || operation.path),
      " here in the page.",
    ),
  );
}
