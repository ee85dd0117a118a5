import { copyButton, el } from "./dom.js";
import { LANGUAGES } from "./snippets.js";
import { createTabs } from "./tabs.js";

/** Code samples in several languages. The chosen language applies to all endpoints. */
export function snippetsOf(settings) {
  const texts = new Map();
  const panels = new Map(
    LANGUAGES.map(({ name, label }) => [
      name,
      el("pre", { class: "code snippet", tabindex: "0", "aria-label": `The request in ${label}` }),
    ]),
  );
  const element = el(
    "section",
    { class: "snippets", "aria-label": "Code samples" },
    createTabs(
      "Language",
      LANGUAGES.map(({ name, label }) => ({ name, label, panel: panels.get(name) })),
      {
        chosen: settings.language,
        onChange: (name) => {
          settings.language = name;
        },
        extra: [copyButton(() => texts.get(settings.language))],
      },
    ),
  );
  return {
    element,
    show(request, signIn) {
      for (const { name, write } of LANGUAGES) {
        const text = write(request, signIn);
        texts.set(name, text);
        panels.get(name).textContent = text;
      }
    },
  };
}
