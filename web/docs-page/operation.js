import { confirmSending } from "./confirm.js";
import { credentialInputs, needsSignIn, schemesOf } from "./credentials.js";
import { announce, copyButton, el, paragraphs } from "./dom.js";
import { fieldGroup, fieldRow } from "./field.js";
import { composeBody, fieldKey, requestOf } from "./request.js";
import { errorsOf, responseView } from "./response-view.js";
import { responsesOf } from "./responses.js";
import { send } from "./send.js";
import { snippetsOf } from "./snippet-view.js";
import { createTabs } from "./tabs.js";

/** The state of the form of one endpoint. It is kept when the page is redrawn, so that a reload loses nothing. */
export function emptyForm() {
  return {
    values: new Map(),
    bodyMode: "fields",
    bodyText: "",
    tab: "table",
    received: el("div", { class: "received-place" }),
  };
}

/** One endpoint: description, form, code samples and responses. */
export function operationView(operation, { api, root, form, credentials, settings }) {
  const { document: source, schemes } = api;
  const rows = [...operation.params, ...(operation.body?.fields ?? [])].map((field) =>
    fieldRow(source, field, { value: formValue(form, field), onChange: updateSnippets }),
  );
  const rowsIn = (location) => rows.filter(({ field }) => field.location === location);
  const snippets = snippetsOf(settings);
  const sendButton = el("button", { type: "submit", class: "primary send" }, `Send ${operation.method}`);
  const cancelButton = el("button", { type: "button", hidden: true }, "Cancel");
  const signIn = signInOf(operation, { schemes, credentials, onChange: updateSnippets });
  let running;

  const formElement = el(
    "form",
    { class: "request", novalidate: true, "aria-label": `${operation.method} ${operation.path}` },
    signIn.element,
    fieldGroup("Path", rowsIn("path")),
    fieldGroup("Query", rowsIn("query")),
    fieldGroup("Headers", rowsIn("header")),
    operation.body && bodyGroup(operation, { form, rows: rowsIn("body"), onChange: updateSnippets }),
    rows.length === 0 &&
      operation.body === undefined &&
      el("p", { class: "muted" }, "This endpoint takes no parameters."),
    el("div", { class: "buttons" }, sendButton, cancelButton, el("span", { class: "hint keys" }, "Ctrl + Enter")),
  );

  function currentRequest() {
    const authorization = credentials.headerFor(operation, schemes);
    return requestOf(operation, form, { root, authorization });
  }

  function updateSnippets() {
    const scheme = credentials.findScheme(operation, schemes);
    const signedIn = scheme && { kind: scheme.kind, user: credentials.entry(scheme.name).user };
    snippets.show(currentRequest().request, signedIn ?? expectedSignIn(operation, schemes));
  }

  function showProblems(problems) {
    let first;
    for (const row of rows) {
      const own = problems.find((problem) => isAbout(problem, row.field));
      row.showProblem(own?.message ?? "");
      if (own !== undefined) first ??= row;
    }
    first?.focus();
  }

  async function start(request) {
    if (operation.isWrite && !(await confirmSending(request))) return;
    await load(request, []);
  }

  /** Sends a request and shows the response. `previousRequests` are those of the previous pages. */
  async function load(request, previousRequests) {
    running?.abort();
    const controller = new AbortController();
    running = controller;
    sendButton.disabled = true;
    cancelButton.hidden = false;
    form.received.setAttribute("aria-busy", "true");
    try {
      const response = await send(request, controller.signal);
      show(
        responseView(response, {
          operation,
          root,
          form,
          previous: previousRequests.at(-1),
          load: pager(request, previousRequests),
        }),
      );
      announce(`Response: ${response.status} ${response.statusText}`);
      showProblems(errorsOf(response));
      signIn.show(response.status === 401);
    } catch (error) {
      const message = controller.signal.aborted ? "Request cancelled." : `No response: ${error.message}`;
      // Show nothing if another request has replaced this one.
      if (running === controller) show(el("p", { class: "problems" }, message));
    } finally {
      if (running === controller) {
        running = undefined;
        sendButton.disabled = false;
        cancelButton.hidden = true;
        form.received.removeAttribute("aria-busy");
      }
    }
  }

  const pager = (request, previousRequests) => (to, direction) =>
    load(to, direction === "next" ? [...previousRequests, request] : previousRequests.slice(0, -1));

  function show(content) {
    form.received.replaceChildren(el("h2", { class: "received-title" }, "Response"), content);
    form.received.scrollIntoView({
      block: "nearest",
      behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth",
    });
  }

  formElement.addEventListener("submit", (event) => {
    event.preventDefault();
    const { request, problems } = currentRequest();
    showProblems(problems);
    if (problems.length === 0) start(request);
  });
  formElement.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) formElement.requestSubmit();
  });
  cancelButton.addEventListener("click", () => running?.abort());
  updateSnippets();

  return el(
    "article",
    { class: "operation" },
    headingOf(operation),
    el(
      "div",
      { class: "sides" },
      formElement,
      el("section", { class: "received", "aria-label": "Response" }, form.received),
      el("div", { class: "side" }, snippets.element),
      responsesOf(source, operation),
    ),
  );
}

/** Whether an error is about a field. For headers, the service uses the name in the project: `x_tenant` for `X-Tenant`. */
function isAbout({ field, location }, { name, location: own }) {
  if (location !== undefined && location !== own) return false;
  if (own !== "header") return field === name;
  return field.toLowerCase().replaceAll("_", "-") === name.toLowerCase().replaceAll("_", "-");
}

function formValue(form, field) {
  const key = fieldKey(field);
  if (!form.values.has(key)) form.values.set(key, { sent: field.location === "path", text: "" });
  return form.values.get(key);
}

/** The credentials that code samples use until the user enters some. */
function expectedSignIn(operation, schemes) {
  const [scheme] = needsSignIn(operation) ? schemesOf(operation, schemes) : [];
  return scheme && { kind: scheme.kind, user: "user" };
}

function headingOf(operation) {
  const { method, path, summary, description, deprecated, isWrite } = operation;
  const parts = path.split(/(\{[^{}]*\})/);
  const address = [
    el("span", { class: `method ${method.toLowerCase()}` }, method),
    el(
      "code",
      { class: "path" },
      parts.map((part) => (part.startsWith("{") ? el("span", { class: "placeholder" }, part) : part)),
    ),
  ];
  const copy = copyButton(() => path, "Copy path");
  return el(
    "header",
    { class: "operation-head" },
    summary === ""
      ? el("div", { class: "address" }, el("h1", { class: "address" }, address), copy)
      : [el("h1", {}, summary), el("div", { class: "address" }, address, copy)],
    el(
      "ul",
      { class: "badges" },
      deprecated && el("li", { class: "tag-old" }, "deprecated"),
      needsSignIn(operation) && el("li", {}, "needs sign-in"),
      isWrite && el("li", {}, "changes data"),
    ),
    description !== "" && paragraphs(description),
  );
}

function signInOf(operation, { schemes, credentials, onChange }) {
  const offered = schemesOf(operation, schemes);
  if (offered.length === 0) return { element: undefined, show: () => {} };
  const problem = el("p", { class: "problem", role: "alert" });
  const onInput = () => {
    problem.textContent = "";
    onChange();
  };
  const element = el(
    "fieldset",
    { class: "group sign-in" },
    el("legend", {}, "Sign in"),
    offered.map((scheme) => [
      el("div", { class: "credentials" }, credentialInputs(scheme, credentials.entry(scheme.name), onInput)),
      scheme.description !== "" && el("p", { class: "hint" }, scheme.description),
    ]),
    problem,
    el(
      "p",
      { class: "hint" },
      needsSignIn(operation)
        ? "Kept in this tab until you leave, never stored."
        : "Optional. Kept in this tab until you leave, never stored.",
    ),
  );
  return {
    element,
    show(isRefused) {
      const isFilled = credentials.findScheme(operation, schemes) !== undefined;
      problem.textContent = isRefused ? (isFilled ? "Credentials rejected." : "Authentication required.") : "";
    },
  };
}

/** The body as fields, or as JSON. */
function bodyGroup(operation, { form, rows, onChange }) {
  const area = el("textarea", {
    id: "body-text",
    rows: "10",
    spellcheck: "false",
    autocomplete: "off",
    class: "body-input",
  });
  area.value = form.bodyText;
  area.addEventListener("input", () => {
    form.bodyText = area.value;
    onChange();
  });
  const fields = el(
    "div",
    {},
    rows.map(({ row }) => row),
  );
  const text = el("div", {}, el("label", { class: "hidden-text", for: "body-text" }, "Body as JSON"), area);
  const choices = [
    { name: "fields", label: "Fields", panel: fields },
    { name: "text", label: "JSON", panel: text },
  ];
  const tabs = createTabs("Body", choices, {
    chosen: form.bodyMode,
    onChange(mode) {
      // The JSON initially contains the values of the fields.
      if (mode === "text" && form.bodyMode === "fields") {
        form.bodyText = composeBody(operation.body, (field) => formValue(form, field));
        area.value = form.bodyText;
      }
      form.bodyMode = mode;
      onChange();
    },
  });
  return fieldGroup("Body", [], tabs);
}
