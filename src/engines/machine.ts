const MEMINFO = "/proc/meminfo";
const STATUS = "/proc/self/status";
const LIMITS = "/proc/self/limits";
const CGROUPS = "/proc/self/cgroup";
const CGROUP_ROOT = "/sys/fs/cgroup";

/** The content of a file; undefined when it cannot be read. */
export type ReadText = (path: string) => string | undefined;

/**
 * The bytes of memory available to the process: those of the machine, or the limit of its control group (container, systemd).
 * Undefined where the system has no such files.
 */
export function availableMemory(read: ReadText): number | undefined {
  const kilobytes = /^MemTotal:\s+(\d+) kB$/m.exec(read(MEMINFO) ?? "")?.[1];
  if (kilobytes === undefined) return undefined;
  const limits = groupsOf(read).flatMap(({ folder, version }) => {
    if (version === 1) return numberIn(read(`${folder("memory")}/memory.limit_in_bytes`));
    return ["memory.max", "memory.high"].flatMap((file) => numberIn(read(`${folder("memory")}/${file}`)));
  });
  return Math.min(Number(kilobytes) * 1024, ...limits);
}

/** The bytes of memory that the process uses. Undefined where the system has no such file. */
export function residentMemory(read: ReadText): number | undefined {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(read(STATUS) ?? "")?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
}

/** The cores available to the process, fractions included. Undefined where the system has no such files. */
export function availableCores(read: ReadText): number | undefined {
  const allowed = /^Cpus_allowed_list:\s+(\S+)$/m.exec(read(STATUS) ?? "")?.[1];
  if (allowed === undefined) return undefined;
  const quotas = groupsOf(read).flatMap(({ folder, version }) => {
    const [quota, period] =
      version === 1
        ? ["quota", "period"].map((file) => read(`${folder("cpu")}/cpu.cfs_${file}_us`))
        : (read(`${folder("cpu")}/cpu.max`)?.split(" ") ?? []);
    // Neither `max` nor -1 is a limit.
    return numberIn(quota).map((each) => each / Number(period));
  });
  return Math.min(
    allowed.split(",").reduce((cores, range) => cores + coreCountOf(range), 0),
    ...quotas,
  );
}

/** How many files and sockets the process may open. Undefined where unknown or unlimited. */
export function availableDescriptors(read: ReadText): number | undefined {
  const count = /^Max open files\s+(\d+)\s/m.exec(read(LIMITS) ?? "")?.[1];
  return count === undefined ? undefined : Number(count);
}

/** The number of cores in a range: `3`, or `0-7`. */
function coreCountOf(range: string): number {
  const [first = 0, last = first] = range.split("-").map(Number);
  return last - first + 1;
}

interface Group {
  readonly version: 1 | 2;
  /** The folder that holds a controller's files. */
  folder(controller: string): string;
}

/** The control groups of the process and their ancestors. Lines read `4:cpu,memory:/a/b` in version 1, `0::/a/b` in version 2. */
function groupsOf(read: ReadText): readonly Group[] {
  return (read(CGROUPS) ?? "").split("\n").flatMap((line) => {
    const [, controllers, group] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    if (group === undefined || controllers === undefined) return [];
    return foldersFrom(group).map((path): Group => {
      if (controllers === "") return { version: 2, folder: () => `${CGROUP_ROOT}${path}` };
      const names = controllers.split(",");
      // A group has files only for its own controllers.
      return { version: 1, folder: (name) => `${CGROUP_ROOT}/${names.includes(name) ? name : "none"}${path}` };
    });
  });
}

/** `/a/b`, `/a` and the root (an empty string). In a container only the root may exist. */
function foldersFrom(group: string): readonly string[] {
  const parts = group.split("/").filter((part) => part !== "");
  return Array.from({ length: parts.length + 1 }, (_, length) =>
    parts
      .slice(0, length)
      .map((part) => `/${part}`)
      .join(""),
  );
}

function numberIn(text: string | undefined): readonly number[] {
  return /^\d+$/.test(text?.trim() ?? "") ? [Number(text)] : [];
}
