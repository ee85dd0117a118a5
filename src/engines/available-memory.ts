const MEMINFO = "/proc/meminfo";
const CGROUPS = "/proc/self/cgroup";
const MOUNTED = "/sys/fs/cgroup";

/** The text of a file; undefined when it cannot be read. */
export type ReadText = (path: string) => string | undefined;

/**
 * The bytes of memory that the process can have: what the machine has, or less where a control group (of a container, of
 * systemd) says so. Undefined where the system does not tell it in files.
 */
export function availableMemory(read: ReadText): number | undefined {
  const kilobytes = /^MemTotal:\s+(\d+) kB$/m.exec(read(MEMINFO) ?? "")?.[1];
  if (kilobytes === undefined) return undefined;
  const limits = (read(CGROUPS) ?? "")
    .split("\n")
    .flatMap(limitFiles)
    .flatMap((file) => bytesIn(read(file)));
  return Math.min(Number(kilobytes) * 1024, ...limits);
}

/** The files that may hold a bound, of the group and of all above it: `4:memory:/a/b` of version 1, `0::/a/b` of version 2. */
function limitFiles(line: string): readonly string[] {
  const [, controllers, group] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
  if (group === undefined || controllers === undefined) return [];
  const folders = foldersFrom(group);
  if (controllers === "") {
    return folders.flatMap((folder) => [`${MOUNTED}${folder}/memory.max`, `${MOUNTED}${folder}/memory.high`]);
  }
  if (!controllers.split(",").includes("memory")) return [];
  return folders.map((folder) => `${MOUNTED}/memory${folder}/memory.limit_in_bytes`);
}

/** `/a/b`, `/a` and the root, which is nothing. In a container only the root may be there. */
function foldersFrom(group: string): readonly string[] {
  const parts = group.split("/").filter((part) => part !== "");
  return Array.from({ length: parts.length + 1 }, (_, length) =>
    parts
      .slice(0, length)
      .map((part) => `/${part}`)
      .join(""),
  );
}

/** `max` is no bound. */
function bytesIn(text: string | undefined): readonly number[] {
  return /^\d+$/.test(text?.trim() ?? "") ? [Number(text)] : [];
}
