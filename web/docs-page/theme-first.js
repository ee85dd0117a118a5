// Runs before the first paint, so that the page does not flash in other colours.
try {
  const theme = localStorage.getItem("eider-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // No storage here: the system's colours are shown.
}
