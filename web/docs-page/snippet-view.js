import { copyButton, el } from "./dom.js";
import { LANGUAGES } from "./snippets.js";
import { tabbed } from "./tabs.js";

/** Code samples in several languages. The language that was chosen holds for all endpoints. */
export function snippetsOf(settings) {
  const texts = new Map();
  const places = new Map(
    LANGUAGES.map(({ name, label }) => [
      name,
      el("pre", { class: "code snippet", tabindex: "0", "aria-label": `The request in ${label}` }),
    ]),
  );
  const element = el(
    "section",
    { class: "snippets", "aria-label": "Code samples" },
    tabbed(
      "Language",
      LANGUAGES.map(({ name, label }) => ({ name, label, panel: places.get(name) })),
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
        places.get(name).textContent = text;
      }
    },
  };
}
