import { el } from "./dom.js";

/** The URL fragment that selects an operation. */
export const hashOf = ({ key }) => `#${encodeURIComponent(key)}`;

/** The list of endpoints by tag, with a filter. */
export function openSidebar({ groups: container, filter, found }) {
  let entries = [];

  function show(api, currentKey) {
    entries = [];
    const sections = api.groups.map((group, index) => {
      const items = group.operations.map((operation) => entryOf(operation));
      const section = el(
        "section",
        { class: "group-of", "aria-labelledby": `group-${index}` },
        el("h2", { id: `group-${index}` }, group.name || "Endpoints"),
        group.description !== "" && el("p", { class: "muted" }, group.description),
        el(
          "ul",
          {},
          items.map(({ item }) => item),
        ),
      );
      entries.push(...items.map((entry) => ({ ...entry, section })));
      return section;
    });
    const none = el("p", { class: "muted none", id: "none", hidden: true }, "No endpoint matches.");
    const list = container.parentElement;
    const { scrollTop } = list;
    container.replaceChildren(...sections, none);
    list.scrollTop = scrollTop;
    mark(currentKey);
    applyFilter();
  }

  function mark(currentKey) {
    for (const { operation, link } of entries) {
      if (operation.key === currentKey) {
        link.setAttribute("aria-current", "page");
        link.scrollIntoView({ block: "nearest" });
      } else link.removeAttribute("aria-current");
    }
  }

  function applyFilter() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const matchingSections = new Set();
    let count = 0;
    for (const { item, searchText, section } of entries) {
      const isMatch = words.every((word) => searchText.includes(word));
      item.hidden = !isMatch;
      if (isMatch) matchingSections.add(section);
      if (isMatch) count += 1;
    }
    for (const { section } of entries) section.hidden = !matchingSections.has(section);
    const none = document.getElementById("none");
    if (none !== null) none.hidden = count > 0;
    found.textContent = words.length === 0 ? "" : `${count} of ${entries.length} endpoints`;
  }

  const firstLink = () => entries.find(({ item }) => !item.hidden)?.link;

  filter.addEventListener("input", applyFilter);
  filter.addEventListener("keydown", (event) => {
    if (event.key === "Enter") firstLink()?.click();
    if (event.key === "ArrowDown") {
      event.preventDefault();
      firstLink()?.focus();
    }
    if (event.key === "Escape") {
      filter.value = "";
      applyFilter();
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
    // In a narrow window, the list is hidden while an endpoint is shown.
    if (filter.offsetParent === null) return;
    event.preventDefault();
    filter.focus();
  });
  return { show, mark };
}

function entryOf(operation) {
  const { method, path, summary, deprecated } = operation;
  const link = el(
    "a",
    { href: hashOf(operation), class: deprecated ? "entry deprecated" : "entry" },
    el("span", { class: `method ${method.toLowerCase()}` }, method),
    el("span", { class: "entry-path" }, path),
    summary !== "" && el("span", { class: "entry-summary" }, summary),
  );
  const searchText = [method, path, summary, operation.description, ...operation.tags].join(" ").toLowerCase();
  return { operation, link, item: el("li", {}, link), searchText };
}
