import { dirname, isAbsolute, resolve } from "node:path";
import type { Files } from "./files.ts";
import type { SourceFile } from "./tree.ts";

/** Returns the template, or an error message. */
export type FindTemplate = (name: string, yamlFile: string) => SourceFile | string;

/** Looks in `template.path`, then in the folder of the YAML file. Reads each template once. */
export function openTemplates(templatePath: string, files: Files): FindTemplate {
  const found = new Map<string, SourceFile | string | undefined>();

  function read(path: string, name: string): SourceFile | string | undefined {
    if (found.has(path)) return found.get(path);
    const text = files.read(path);
    const template = text.ok
      ? { file: files.display(path), text: text.text }
      : text.why.kind === "absent"
        ? undefined
        : `the template '${name}' cannot be read: ${text.why.reason}`;
    found.set(path, template);
    return template;
  }

  return (name, yamlFile) => {
    if (isRemote(name)) {
      return `'${name}' is remote, and remote templates are not supported yet; copy it into ${files.display(templatePath)}`;
    }
    const notFound = `Template file not found: ${name}`;
    if (isAbsolute(name)) return read(name, name) ?? notFound;
    const roots = [templatePath, dirname(yamlFile)];
    let left = true;
    for (const root of roots) {
      const path = resolve(root, name);
      const containment = files.containment(path, roots);
      if (containment !== "outside") left = false;
      const template = containment === "inside" ? read(path, name) : undefined;
      if (template !== undefined) return template;
    }
    return left
      ? `the template '${name}' leaves template.path and the folder of its YAML file; keep it inside`
      : notFound;
  };
}

/** Whether it is a URL, such as `s3://...`. */
export function isRemote(path: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(path);
}
