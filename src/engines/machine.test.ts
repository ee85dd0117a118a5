import { expect, test } from "vitest";
import { availableCores, availableDescriptors, availableMemory } from "./machine.ts";

const MIB = 1024 ** 2;
const machine = { "/proc/meminfo": `MemTotal:        ${16 * 1024 * 1024} kB\nMemFree:         1 kB\n` };

test.each<readonly [what: string, files: Record<string, string>, mib: number]>([
  ["a machine", {}, 16_384],
  ["no bound, version 2", { "/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "max\n" }, 16_384],
  ["a container, version 2", { "/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": `${512 * MIB}\n` }, 512],
  [
    "a service of systemd, bounded by its slice",
    {
      "/proc/self/cgroup": "0::/system.slice/eider.service\n",
      "/sys/fs/cgroup/system.slice/eider.service/memory.max": "max\n",
      "/sys/fs/cgroup/system.slice/eider.service/memory.high": `${3072 * MIB}\n`,
      "/sys/fs/cgroup/system.slice/memory.max": `${4096 * MIB}\n`,
    },
    3_072,
  ],
  [
    "version 1",
    {
      "/proc/self/cgroup": "9:name=systemd:/\n4:cpu,memory:/docker/abc\n0::/\n",
      "/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": `${1024 * MIB}\n`,
    },
    1_024,
  ],
  [
    "version 1 in a container that sees only its own root, no bound",
    {
      "/proc/self/cgroup": "4:memory:/docker/abc\n",
      "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
    },
    16_384,
  ],
])("%s", (_, files, mib) => {
  const all: Record<string, string> = { ...machine, ...files };
  expect(availableMemory((path) => all[path])).toBe(mib * MIB);
});

test.each<readonly [what: string, files: Record<string, string>, cores: number]>([
  ["all of them", {}, 8],
  ["some of them", { "/proc/self/status": "Name:\tnode\nCpus_allowed_list:\t0-1,4,6-7\n" }, 5],
  ["a container, version 2", { "/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cpu.max": "150000 100000\n" }, 1.5],
  ["no bound, version 2", { "/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cpu.max": "max 100000\n" }, 8],
  [
    "version 1",
    {
      "/proc/self/cgroup": "4:cpu,cpuacct:/a\n3:memory:/a\n",
      "/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us": "200000\n",
      "/sys/fs/cgroup/cpu/a/cpu.cfs_period_us": "100000\n",
      "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
      "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
    },
    2,
  ],
])("cores: %s", (_, files, cores) => {
  const all: Record<string, string> = { "/proc/self/status": "Cpus_allowed_list:\t0-7\n", ...files };
  expect(availableCores((path) => all[path])).toBe(cores);
});

test("a system that does not tell", () => {
  const nothing = (): undefined => undefined;
  expect([availableMemory(nothing), availableCores(nothing), availableDescriptors(nothing)]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

test.each([
  ["Max open files            256                  4096                 files     \n", 256],
  ["Max open files            unlimited            unlimited            files     \n", undefined],
])("file descriptors: %j", (line, expected) => {
  const limits = `Limit                     Soft Limit           Hard Limit           Units     \n${line}Max locked memory         8388608              8388608              bytes     \n`;
  expect(availableDescriptors((path) => (path === "/proc/self/limits" ? limits : undefined))).toBe(expected);
});
