/** Calls `reload` whenever `eider dev` reports a change. The browser reconnects automatically. */
export function listenForChanges(url, { reload, status }) {
  const source = new EventSource(url);
  let wasDisconnected = false;
  source.addEventListener("open", () => {
    status("live");
    // Changes while disconnected were missed.
    if (wasDisconnected) reload();
    wasDisconnected = false;
  });
  source.addEventListener("error", () => {
    wasDisconnected = true;
    status("away");
  });
  source.addEventListener("message", ({ data }) => {
    if (data === "reload") reload();
  });
  source.addEventListener("reload", () => reload());
  return { close: () => source.close() };
}
