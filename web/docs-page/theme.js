const KEY = "eider-theme";

/** The colour theme switch. The choice is all that the page stores. */
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
      // No storage here: the choice lasts as long as the page.
    }
  });
}
