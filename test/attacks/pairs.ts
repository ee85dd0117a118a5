import { targetsOf } from "./arena.ts";
import type { Sender, Target } from "./sender.ts";
import { senders } from "./senders.ts";

/** A text on its way to one endpoint. */
export interface Shot {
  readonly sender: Sender;
  readonly target: Target;
  readonly text: string;
}

/**
 * Every pair instead of every combination: each text goes to each target once, and comes from each sender at least once, to
 * a target that must show it (`arriving`). The senders of a target take turns.
 */
export function inPairs(
  texts: readonly string[],
  { names, arriving }: { readonly names: readonly string[]; readonly arriving: readonly string[] },
): ReadonlyMap<string, readonly Shot[]> {
  const shots = new Map<string, Shot[]>(names.map((name) => [name, []]));
  const uses = new Map<string, number>();
  const usesOf = (sender: Sender, name: string): number => uses.get(`${sender.name} ${name}`) ?? 0;
  const shoot = (text: string, sender: Sender, name: string): void => {
    const target = targetsOf(sender)[name];
    if (target === undefined) throw new Error(`${sender.name} has no ${name}`);
    uses.set(`${sender.name} ${name}`, usesOf(sender, name) + 1);
    shots.get(name)?.push({ sender, target, text });
  };
  for (const text of texts) {
    const able = senders.filter((sender) => sender.carries(text));
    const met = new Set<Sender>();
    for (const name of names) {
      const counts = arriving.includes(name);
      // Little more than a turn: no sender of this target is left out for long.
      const cost = (sender: Sender): number => usesOf(sender, name) + (counts && met.has(sender) ? 3 : 0);
      const [sender] = able.filter((one) => name in targetsOf(one)).sort((a, b) => cost(a) - cost(b));
      if (sender === undefined) throw new Error(`nothing carries ${JSON.stringify(text)} to ${name}`);
      shoot(text, sender, name);
      if (counts) met.add(sender);
    }
    for (const sender of able.filter((one) => !met.has(one))) {
      const [name] = arriving
        .filter((one) => one in targetsOf(sender))
        .sort((a, b) => usesOf(sender, a) - usesOf(sender, b));
      if (name === undefined) throw new Error(`${sender.name} has nothing that shows a text`);
      shoot(text, sender, name);
    }
  }
  return shots;
}

/** The pairs that are not among the shots. */
export function missingPairs(
  texts: readonly string[],
  shots: ReadonlyMap<string, readonly Shot[]>,
  arriving: readonly string[],
): readonly string[] {
  const found = new Set(
    [...shots].flatMap(([name, toTarget]) =>
      toTarget.flatMap(({ sender, text }) => [
        `${name}: ${text}`,
        `${name} by ${sender.name}`,
        ...(arriving.includes(name) ? [`by ${sender.name}: ${text}`] : []),
      ]),
    ),
  );
  const names = [...shots.keys()];
  const wanted = [
    ...names.flatMap((name) => texts.map((text) => `${name}: ${text}`)),
    ...senders.flatMap((sender) => [
      ...names.filter((name) => name in targetsOf(sender)).map((name) => `${name} by ${sender.name}`),
      ...texts.filter(sender.carries).map((text) => `by ${sender.name}: ${text}`),
    ]),
  ];
  return wanted.filter((pair) => !found.has(pair));
}
