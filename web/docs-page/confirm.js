import { el } from "./dom.js";

/** Asks for confirmation before a request changes data. Resolves to whether the user agreed. */
export function confirmSending(request) {
  return new Promise((resolve) => {
    const close = (choice) => () => dialog.close(choice);
    const dialog = el(
      "dialog",
      { class: "confirm", "aria-labelledby": "confirm-title" },
      el("h2", { id: "confirm-title" }, "Send this request?"),
      el("p", {}, "This changes data in the running service."),
      el(
        "pre",
        { class: "code", tabindex: "0" },
        `${request.method} ${new URL(request.url).pathname}${new URL(request.url).search}`,
        request.body === undefined ? "" : `\n\n${shorten(request.body)}`,
      ),
      el(
        "div",
        { class: "buttons" },
        el("button", { type: "button", autofocus: true, on: { click: close("no") } }, "Cancel"),
        el("button", { type: "button", class: "primary", on: { click: close("yes") } }, `Send ${request.method}`),
      ),
    );
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

function shorten(text) {
  return text.length > 2000 ? `${text.slice(0, 2000)}\n…` : text;
}
