import { authorization, credentialInputs, openCredentials } from "./credentials.js";
import { readDocument } from "./document.js";
import { el, toast } from "./dom.js";
import { isJson, parseExactly } from "./json-text.js";
import { listenForChanges } from "./live.js";
import { emptyForm, operationView } from "./operation.js";
import { overviewOf } from "./overview.js";
import { openSidebar } from "./sidebar.js";
import { openThemes } from "./theme.js";

/** The root URL of the service, three folders above this file, so that proxies may add a path prefix. */
const root = new URL("../../../", import.meta.url);
const place = (id) => document.getElementById(id);

const main = place("main");
const credentials = openCredentials();
const settings = { language: "curl" };
const forms = new Map();
const sidebar = openSidebar({ groups: place("groups"), filter: place("filter"), found: place("found") });
let api;
let source = "";
let listening;
/** Credentials for a protected document: `{ kind, entry }`. */
let reader;

/** The document as text. For a 401, `refused` is the first scheme that the service names. */
async function fetchDocument() {
  const headers = reader === undefined ? {} : { Authorization: authorization(reader.kind, reader.entry) };
  const response = await fetch(new URL("openapi.json", root), { headers, cache: "no-cache", credentials: "omit" });
  if (response.status === 401) {
    const kind = /^\s*basic/i.test(response.headers.get("www-authenticate") ?? "basic") ? "basic" : "bearer";
    return { refused: kind };
  }
  const text = await response.text();
  if (!response.ok || !isJson(text)) throw new Error(`the service returned ${response.status}`);
  return { text };
}

async function load() {
  try {
    const { text, refused } = await fetchDocument();
    if (refused !== undefined) askForDocument(refused);
    else if (text !== source) {
      const isFirst = source === "";
      source = text;
      api = readDocument(parseExactly(text));
      if (isFirst && reader !== undefined) credentials.prefill(api.schemes, reader);
      showApi();
      if (!isFirst) toast("The document has changed");
    }
  } catch (error) {
    if (api !== undefined) toast(`Could not load the document: ${error.message}`);
    else
      main.replaceChildren(
        el("p", { class: "problems" }, `Could not load the document: ${error.message}`),
        retryButton(),
      );
  }
}

function retryButton() {
  return el("button", { type: "button", on: { click: load } }, "Try again");
}

function askForDocument(kind) {
  const entry = { user: "", password: "", token: "" };
  const wrong = el("p", { class: "problem", role: "alert" }, reader === undefined ? "" : "Credentials rejected.");
  const form = el(
    "form",
    { class: "document-sign-in" },
    el("h1", {}, "Sign in"),
    el("p", {}, "This documentation is protected."),
    el(
      "div",
      { class: "credentials" },
      credentialInputs({ name: "document", kind }, entry, () => {}),
    ),
    wrong,
    el("div", { class: "buttons" }, el("button", { type: "submit", class: "primary" }, "Show documentation")),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    reader = { kind, entry };
    load();
  });
  main.replaceChildren(form);
}

function showApi() {
  document.title = api.title;
  place("brand-name").textContent = api.title;
  place("brand-version").textContent = api.version;
  const current = currentOperation();
  sidebar.show(api, current?.key);
  keepingFocus(() => showOperation(current));
  if (api.events !== "" && listening === undefined) {
    // Never listen to another service.
    const url = new URL(api.events.replace(/^\/+/, ""), root);
    if (url.origin === root.origin) listening = listenForChanges(url, { reload: load, status: showLive });
  }
}

function showLive(status) {
  const live = place("live");
  live.hidden = false;
  live.className = `live ${status}`;
  live.textContent = status === "live" ? "live" : "disconnected";
}

function currentOperation() {
  try {
    return api.operations.get(decodeURIComponent(location.hash.slice(1)));
  } catch {
    return undefined;
  }
}

function showOperation(operation) {
  document.body.dataset.view = operation === undefined ? "overview" : "operation";
  if (operation === undefined) {
    main.replaceChildren(overviewOf(api, { root, isUnknown: !["", "#overview"].includes(location.hash) }));
    return;
  }
  if (!forms.has(operation.key)) forms.set(operation.key, emptyForm());
  const form = forms.get(operation.key);
  const back = el("a", { class: "back", href: "#overview" }, "All endpoints");
  main.replaceChildren(back, operationView(operation, { api, root, form, credentials, settings }));
}

/** Redraws, and keeps focus, selection and scroll position. */
function keepingFocus(draw) {
  const { activeElement } = document;
  const { id, selectionStart, selectionEnd } = activeElement ?? {};
  const { scrollY } = window;
  draw();
  window.scrollTo({ top: scrollY, behavior: "instant" });
  const again = id ? place(id) : null;
  if (again === null || again === document.activeElement) return;
  again.focus({ preventScroll: true });
  if (typeof selectionStart === "number") again.setSelectionRange(selectionStart, selectionEnd);
}

window.addEventListener("hashchange", () => {
  if (api === undefined) return;
  const operation = currentOperation();
  sidebar.mark(operation?.key);
  showOperation(operation);
  window.scrollTo({ top: 0, behavior: "instant" });
  main.focus({ preventScroll: true });
});
// The page would treat #main as the name of an endpoint.
place("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
openThemes(place("themes"));
load();
