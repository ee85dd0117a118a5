/** Attributes that could run code. */
const FORBIDDEN_ATTRIBUTES = /^(on|style$|srcdoc$|innerhtml$)/i;

/**
 * Creates an element. Children are elements or text, which is never parsed as HTML. `on` contains listeners by event.
 * Attributes that are false or undefined are omitted.
 */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (FORBIDDEN_ATTRIBUTES.test(name)) throw new Error(`the attribute ${name} is not allowed`);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== undefined && value !== false) element.setAttribute(name, String(value));
  }
  element.append(...children.flat(Number.POSITIVE_INFINITY).filter((child) => child !== undefined && child !== false));
  return element;
}

/** Text in which `words in backticks` are code. */
export function inline(text) {
  return text.split(/`([^`\n]+)`/).map((part, index) => (index % 2 === 1 ? el("code", {}, part) : part));
}

/** Text in paragraphs, separated by empty lines. The style sheet preserves single line breaks. */
export function paragraphs(text, className = "prose") {
  const parts = text
    .trim()
    .split(/\n\s*\n/)
    .filter((part) => part !== "");
  return el(
    "div",
    { class: className },
    parts.map((part) => el("p", {}, inline(part))),
  );
}

/** Encodes a name for an element ID, which must not contain spaces. */
export function idPart(name) {
  return encodeURIComponent(name.toWellFormed?.() ?? name);
}

export function hiddenText(text) {
  return el("span", { class: "hidden-text" }, text);
}

/** Announces a change elsewhere on the page to screen readers. */
export function announce(message) {
  document.getElementById("announcer").textContent = message;
}

let toastTimer;

/** Shows a short message for a moment. Screen readers announce it. */
export function toast(message) {
  const element = document.getElementById("toast");
  element.textContent = message;
  element.classList.add("shown");
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => element.classList.remove("shown"), 2500);
}

/** A button that copies the result of `text()`. */
export function copyButton(text, label = "Copy") {
  const button = el(
    "button",
    {
      type: "button",
      class: "quiet",
      on: {
        click: async () => {
          const isCopied = await copy(text());
          toast(isCopied ? "Copied" : "Your browser blocked copying");
        },
      },
    },
    label,
  );
  return button;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Over plain HTTP, browsers provide no clipboard API, so the deprecated method is used.
    const area = el("textarea", { class: "hidden-text", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    const isCopied = document.execCommand("copy");
    area.remove();
    return isCopied;
  }
}
