import { copyButton, el, paragraphs } from "./dom.js";
import { requestOf } from "./request.js";
import { addressOf } from "./sidebar.js";
import { LANGUAGES } from "./snippets.js";

const KINDS = { basic: "User and password", bearer: "A token" };

/** What is shown before an endpoint is chosen. */
export function overviewOf(api, { root, isUnknown }) {
  const count = api.operations.size;
  const schemes = [...api.schemes.values()];
  const link = (file, label) => el("a", { href: new URL(file, root).href }, label);
  return el(
    "article",
    { class: "overview" },
    isUnknown && el("p", { class: "note" }, "The endpoint of this address is not there (any more)."),
    el("h1", {}, api.title, api.version !== "" && el("span", { class: "version" }, api.version)),
    api.description !== "" && paragraphs(api.description),
    el(
      "dl",
      { class: "overview-facts" },
      el("div", {}, el("dt", {}, "Address"), el("dd", {}, el("code", {}, root.href.replace(/\/$/, "")))),
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
      ? el("p", { class: "note" }, "There are no endpoints yet. Add a YAML file with a url-path, and it appears here.")
      : firstCall(api, root),
  );
}

/** Something to paste at once: the first endpoint that can be read without any parameter. */
function firstCall(api, root) {
  const operation = [...api.operations.values()].find(
    ({ method, params, security, deprecated }) =>
      method === "GET" && !deprecated && security.length === 0 && !params.some(({ required }) => required),
  );
  const advice = "Choose an endpoint from the list to see what it takes, and to try it here.";
  if (operation === undefined) return el("p", { class: "muted choose" }, advice);
  const { request } = requestOf(operation, { values: new Map() }, { root });
  const command = LANGUAGES[0].write(request);
  return el(
    "section",
    { class: "first-call", "aria-labelledby": "first-call" },
    el("h2", { id: "first-call" }, "A first call"),
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
      el("a", { href: addressOf(operation) }, operation.summary || operation.path),
      " here in the page.",
    ),
  );
}
