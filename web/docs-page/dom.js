/** What could run as a program is never set as an attribute. */
const REFUSED = /^(on|style$|srcdoc$|innerhtml$)/i;

/**
 * Makes an element. Children are elements or text, and text stays text: nothing in this page is ever read as HTML.
 * `on` holds listeners by event; false and undefined leave an attribute out.
 */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") for (const [event, listen] of Object.entries(value)) element.addEventListener(event, listen);
    else if (REFUSED.test(name)) throw new Error(`no attribute ${name}`);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== undefined && value !== false) element.setAttribute(name, String(value));
  }
  element.append(...children.flat(Number.POSITIVE_INFINITY).filter((child) => child !== undefined && child !== false));
  return element;
}

/** Text with its `words in backticks` as code; everything else stays as it is. */
export function inline(text) {
  return text.split(/`([^`\n]+)`/).map((part, index) => (index % 2 === 1 ? el("code", {}, part) : part));
}

/** Text of several paragraphs, parted by empty lines; single line breaks are kept by the style sheet. */
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

/** A part of an id: names of parameters may hold anything, ids that others refer to may hold no space. */
export function idPart(name) {
  return encodeURIComponent(name.toWellFormed?.() ?? name);
}

export function hiddenText(text) {
  return el("span", { class: "hidden-text" }, text);
}

/** For screen readers: what happened elsewhere on the page. */
export function announce(message) {
  document.getElementById("announcer").textContent = message;
}

let toastTimer;

/** A short message that goes by itself; screen readers say it. */
export function toast(message) {
  const place = document.getElementById("toast");
  place.textContent = message;
  place.classList.add("shown");
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => place.classList.remove("shown"), 2500);
}

/** A button that copies what `text` gives when it is pressed. */
export function copyButton(text, label = "Copy") {
  const button = el(
    "button",
    {
      type: "button",
      class: "quiet",
      on: {
        click: async () => {
          const done = await copy(text());
          toast(done ? "Copied" : "Your browser blocked copying");
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
    // Over plain HTTP on another machine there is no clipboard: the old way is left.
    const area = el("textarea", { class: "hidden-text", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}
