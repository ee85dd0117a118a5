const KEY = "eider-theme";

/** The colour theme switch. The page stores nothing but this choice. */
export function openThemes(fieldset) {
  const chosen = document.documentElement.dataset.theme ?? "auto";
  for (const input of fieldset.querySelectorAll("input")) input.checked = input.value === chosen;
  fieldset.addEventListener("change", (event) => {
    const theme = event.target.value;
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    try {
      if (theme === "auto") localStorage.removeItem(KEY);
      else localStorage.setItem(KEY, theme);
    } catch {
      // Without storage, the choice lasts until the page is closed.
    }
  });
}
