import type { Report } from "../events.ts";

/** What authentication depends on: an identity provider, a secret. */
export interface Dependency {
  down(message: string): void;
  up(): void;
}

/** Reports it once when it goes down, and once when it is back. */
export function openDependency(dependency: string, report: Report): Dependency {
  let isDown = false;
  return {
    down(message) {
      if (!isDown) report({ kind: "dependency-down", dependency, message });
      isDown = true;
    },
    up() {
      if (isDown) report({ kind: "dependency-up", dependency });
      isDown = false;
    },
  };
}
