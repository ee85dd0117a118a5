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
const byId = (id) => document.getElementById(id);

const main = byId("main");
const credentials = openCredentials();
const settings = { language: "curl" };
const forms = new Map();
const sidebar = openSidebar({ groups: byId("groups"), filter: byId("filter"), found: byId("found") });
let api;
let documentText = "";
let changeListener;
/** Credentials for a protected document: `{ kind, entry }`. */
let documentCredentials;

/** Fetches the document as text. For a 401, returns `requiredKind` instead: the first scheme that the service names. */
async function fetchDocument() {
  const headers =
    documentCredentials === undefined
      ? {}
      : { Authorization: authorization(documentCredentials.kind, documentCredentials.entry) };
  const response = await fetch(new URL("openapi.json", root), { headers, cache: "no-cache", credentials: "omit" });
  if (response.status === 401) {
    const kind = /^\s*basic/i.test(response.headers.get("www-authenticate") ?? "basic") ? "basic" : "bearer";
    return { requiredKind: kind };
  }
  const text = await response.text();
  if (!response.ok || !isJson(text)) throw new Error(`the service returned ${response.status}`);
  return { text };
}

async function load() {
  try {
    const { text, requiredKind } = await fetchDocument();
    if (requiredKind !== undefined) showDocumentSignIn(requiredKind);
    else if (text !== documentText) {
      const isFirst = documentText === "";
      documentText = text;
      api = readDocument(parseExactly(text));
      if (isFirst && documentCredentials !== undefined) credentials.prefill(api.schemes, documentCredentials);
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

function showDocumentSignIn(kind) {
  const entry = { user: "", password: "", token: "" };
  const problem = el(
    "p",
    { class: "problem", role: "alert" },
    documentCredentials === undefined ? "" : "Credentials rejected.",
  );
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
    problem,
    el("div", { class: "buttons" }, el("button", { type: "submit", class: "primary" }, "Show documentation")),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    documentCredentials = { kind, entry };
    load();
  });
  main.replaceChildren(form);
}

function showApi() {
  document.title = api.title;
  byId("brand-name").textContent = api.title;
  byId("brand-version").textContent = api.version;
  const current = currentOperation();
  sidebar.show(api, current?.key);
  redrawKeepingFocus(() => showOperation(current));
  if (api.events !== "" && changeListener === undefined) {
    // Never listen to another service.
    const url = new URL(api.events.replace(/^\/+/, ""), root);
    if (url.origin === root.origin) changeListener = listenForChanges(url, { reload: load, status: showLive });
  }
}

function showLive(status) {
  const live = byId("live");
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

/** Calls `draw`, then restores focus, selection and scroll position. */
function redrawKeepingFocus(draw) {
  const { activeElement } = document;
  const { id, selectionStart, selectionEnd } = activeElement ?? {};
  const { scrollY } = window;
  draw();
  window.scrollTo({ top: scrollY, behavior: "instant" });
  const redrawn = id ? byId(id) : null;
  if (redrawn === null || redrawn === document.activeElement) return;
  redrawn.focus({ preventScroll: true });
  if (typeof selectionStart === "number") redrawn.setSelectionRange(selectionStart, selectionEnd);
}

window.addEventListener("hashchange", () => {
  if (api === undefined) return;
  const operation = currentOperation();
  sidebar.mark(operation?.key);
  showOperation(operation);
  window.scrollTo({ top: 0, behavior: "instant" });
  main.focus({ preventScroll: true });
});
// Following the link would set the hash to #main, which the page would treat as the key of an endpoint.
byId("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
openThemes(byId("themes"));
load();
