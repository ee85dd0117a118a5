/** Runs two variants in turning order, `rounds` times after four to warm up; medians, and the median of the ratios per round. */
export async function compare({ base, own }, rounds) {
  const samples = { base: [], own: [] };
  const variants = { base, own };
  for (let round = -4; round < rounds; round++) {
    for (const name of round % 2 === 0 ? ["base", "own"] : ["own", "base"]) {
      globalThis.gc?.();
      const cpuBefore = process.cpuUsage();
      const before = performance.now();
      await variants[name]();
      const wall = performance.now() - before;
      const { user, system } = process.cpuUsage(cpuBefore);
      if (round >= 0) samples[name].push({ wall, cpu: (user + system) / 1000 });
    }
  }
  const medianOf = (name, key) => median(samples[name].map((sample) => sample[key]));
  const ratioOf = (key) => median(samples.base.map((sample, round) => sample[key] / samples.own[round][key]));
  return {
    wall: { base: medianOf("base", "wall"), own: medianOf("own", "wall") },
    cpu: { base: medianOf("base", "cpu"), own: medianOf("own", "cpu") },
    ratio: ratioOf("wall"),
    cpuRatio: ratioOf("cpu"),
  };
}

export function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

export function printTable(lines) {
  const keys = Object.keys(lines[0] ?? {});
  console.log(`| ${keys.join(" | ")} |`);
  console.log(`|${keys.map(() => "---").join("|")}|`);
  for (const line of lines) console.log(`| ${keys.map((key) => line[key]).join(" | ")} |`);
}
