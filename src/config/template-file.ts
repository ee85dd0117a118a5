import { dirname, isAbsolute, resolve } from "node:path";
import type { Files } from "./files.ts";
import { addressBelow, isRemote, parentOf } from "./remote-address.ts";
import type { SourceFile } from "./tree.ts";

/** A remote template that has not been read. */
export const UNREAD: unique symbol = Symbol("a remote template that has not been read");

/** Returns the template, or an error message. */
export type FindTemplate = (name: string, yamlFile: string) => SourceFile | string | typeof UNREAD;

/** Looks in `template.path`, a folder or a URL, then in the folder of the YAML file. Endpoints share templates. */
export function openTemplates(templatePath: string, files: Files): FindTemplate {
  const templates = new Map<string, SourceFile>();

  function read(path: string, name: string): ReturnType<FindTemplate> | undefined {
    const read = files.read(path);
    const file = files.display(path);
    if (read.ok) {
      const template = templates.get(path) ?? { file, text: read.text };
      templates.set(path, template);
      return template;
    }
    switch (read.why.kind) {
      case "absent":
        return undefined;
      case "unread":
        return UNREAD;
      case "unreadable":
        return `the template '${isRemote(path) ? file : name}' cannot be read: ${read.why.reason}`;
    }
  }

  return (name, yamlFile) => {
    if (isRemote(name)) return read(name, name) ?? `Template file not found: ${files.display(name)}`;
    const notFound = `Template file not found: ${name}`;
    if (isAbsolute(name)) return read(name, name) ?? notFound;
    const roots = [templatePath, isRemote(yamlFile) ? parentOf(yamlFile) : dirname(yamlFile)];
    const folders = roots.filter((root) => !isRemote(root));
    let isOutside = true;
    for (const root of roots) {
      const path = isRemote(root) ? addressBelow(root, name) : resolve(root, name);
      if (path === undefined) continue;
      const containment = isRemote(path) ? "inside" : files.containment(path, folders);
      if (containment !== "outside") isOutside = false;
      const template = containment === "inside" ? read(path, name) : undefined;
      if (template !== undefined) return template;
    }
    return isOutside
      ? `the template '${name}' leaves template.path and the folder of its YAML file; keep it inside`
      : notFound;
  };
}
