/** The extension that DuckDB says a statement needs, when that is what it says. */
export function missingExtension(message: string): string | undefined {
  const [, installed, required, holding] =
    /install the required extension '(\w+)'|requires the extension (\w+) to be loaded|exists in the (\w+) extension/.exec(
      message,
    ) ?? [];
  return installed ?? required ?? holding;
}

/** decisions 7: an extension that is not there gives a message that says so. It is never installed by a request. */
export function extensionAdvice(extension: string): string {
  return `this needs the extension '${extension}', and no connection has loaded it; write INSTALL ${extension}; LOAD ${extension} into the init of a connection`;
}
