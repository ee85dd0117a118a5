/**
 * Listens for changes of the project, as `eider dev` tells them, and calls `reload` after each. The browser connects again
 * by itself when the service was away.
 */
export function listenForChanges(url, { reload, status }) {
  const source = new EventSource(url);
  let wasAway = false;
  source.addEventListener("open", () => {
    status("live");
    // What changed in the meantime was told to nobody.
    if (wasAway) reload();
    wasAway = false;
  });
  source.addEventListener("error", () => {
    wasAway = true;
    status("away");
  });
  source.addEventListener("message", ({ data }) => {
    if (data === "reload") reload();
  });
  source.addEventListener("reload", () => reload());
  return { close: () => source.close() };
}
