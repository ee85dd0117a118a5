import type { Report } from "../events.ts";

/** A system that authentication depends on, such as an identity provider or a secret. */
export interface Dependency {
  down(message: string): void;
  up(): void;
}

/** Reports a dependency once when it goes down, and once when it recovers. */
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
