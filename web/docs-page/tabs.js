import { el } from "./dom.js";

let tabsCount = 0;

/**
 * Accessible tabs: the Tab key stops once, and arrow keys switch tabs. `tabs` are `{ name, label, panel }`. `panel` is an
 * element, or a function that creates it when it is first shown. `onChange` gets the name that the user chooses.
 */
export function createTabs(label, tabs, { chosen = tabs[0].name, onChange = () => {}, extra = [] } = {}) {
  tabsCount += 1;
  const id = `tabs-${tabsCount}`;
  const buttons = new Map();
  const panels = new Map();

  for (const { name, label: text } of tabs) {
    const button = el(
      "button",
      { type: "button", role: "tab", id: `${id}-${name}`, "aria-controls": `${id}-${name}-panel` },
      text,
    );
    button.addEventListener("click", () => selectByUser(name));
    buttons.set(name, button);
    panels.set(
      name,
      el("div", { role: "tabpanel", id: `${id}-${name}-panel`, "aria-labelledby": button.id, class: "panel" }),
    );
  }

  function choose(name) {
    for (const { name: each, panel } of tabs) {
      const isChosen = each === name;
      const container = panels.get(each);
      buttons.get(each).setAttribute("aria-selected", String(isChosen));
      buttons.get(each).tabIndex = isChosen ? 0 : -1;
      if (isChosen && container.childElementCount === 0)
        container.append(typeof panel === "function" ? panel() : panel);
      container.hidden = !isChosen;
    }
  }

  function selectByUser(name) {
    choose(name);
    onChange(name);
  }

  const bar = el("div", { role: "tablist", "aria-label": label, class: "tabs" }, [...buttons.values()]);
  bar.addEventListener("keydown", (event) => {
    const names = tabs.map(({ name }) => name);
    const at = names.findIndex((name) => buttons.get(name) === document.activeElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: names.length - 1 }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    const name = names[(to + names.length) % names.length];
    selectByUser(name);
    buttons.get(name).focus();
  });

  choose(tabs.some(({ name }) => name === chosen) ? chosen : tabs[0].name);
  return el("div", { class: "tabbed" }, el("div", { class: "tab-row" }, bar, extra), [...panels.values()]);
}
