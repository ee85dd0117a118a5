import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * The longest files of each project. They run first, so that at the end of a run no worker is left with a long file while the others
 * have nothing to do. Vitest itself only knows how long files took in earlier runs, of which a fresh clone has none.
 */
const LONGEST = [
  // These collect garbage again and again, which takes longer the more modules and results the worker holds.
  "test/stress/bounded-memory-services.test.ts",
  "test/stress/bounded-memory.test.ts",
  "src/rate-limit/rate-limiter.slow.test.ts",
  "src/bounded/lru.slow.test.ts",
  "test/stress/schemathesis.test.ts",
  "test/behaviour/idempotency-stores.test.ts",
  "test/stress/faults-disk.test.ts",
  "src/cache/store-settings.slow.test.ts",
  "test/real/mcp-conformance.test.ts",
  "test/real/mcp-inspector.test.ts",
  "test/stress/hostile-input.test.ts",
  "test/attacks/attacks.test.ts",
  "test/legitimate-inputs/legitimate-inputs.test.ts",
  "src/cache/lake-store.slow.test.ts",
  "test/process/cache-kill.test.ts",
  "test/process/ducklake.test.ts",
  "test/stress/crash.test.ts",
  "test/behaviour/errors-and-load.test.ts",
  "test/behaviour/cache-restart.test.ts",
  "src/cache/store-model.slow.test.ts",
  "test/behaviour/fair-shares.test.ts",
  "test/behaviour/metrics.test.ts",
  "test/process/hash-password.test.ts",
  "test/behaviour/compression.test.ts",
  "test/problems.test.ts",
];

const rankOf = ({ moduleId }: TestSpecification): number => {
  const index = LONGEST.findIndex((file) => moduleId.endsWith(`/${file}`));
  return index === -1 ? LONGEST.length : index;
};

/** Within a project, the longest files first, then the others in Vitest's own order. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map(({ project }) => project))];
    return projects.flatMap((each) =>
      sorted.filter(({ project }) => project === each).sort((a, b) => rankOf(a) - rankOf(b)),
    );
  }
}
