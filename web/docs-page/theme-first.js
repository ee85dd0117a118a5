// Runs before the first paint, so that nobody sees the other colours for a moment.
try {
  const theme = localStorage.getItem("eider-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // No storage here: the system's colours are shown.
}
