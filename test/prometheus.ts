/** What `/metrics` tells: the value of each line, by its name with its labels as they are written. */
export type Scraped = ReadonlyMap<string, number>;

export async function scrape(url: string): Promise<Scraped> {
  const answer = await fetch(`${url}/metrics`);
  if (answer.status !== 200) throw new Error(`/metrics answers ${answer.status}`);
  return readMetrics(await answer.text());
}

export function readMetrics(text: string): Scraped {
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line) => {
      const at = line.lastIndexOf(" ");
      return [line.slice(0, at), Number(line.slice(at + 1))];
    }),
  );
}

/** The lines that say something of an endpoint, a cache or whatever the text names. */
export function naming(scraped: Scraped, text: string): readonly string[] {
  return [...scraped.keys()].filter((line) => line.includes(text));
}
