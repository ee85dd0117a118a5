/** The values in `/metrics`, by metric name and labels as they are written there. */
export type Scraped = ReadonlyMap<string, number>;

export async function scrape(url: string): Promise<Scraped> {
  const response = await fetch(`${url}/metrics`);
  if (response.status !== 200) throw new Error(`/metrics returned ${response.status}`);
  return readMetrics(await response.text());
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

/** The metric names and labels that contain a text, such as the name of an endpoint or a cache. */
export function linesContaining(scraped: Scraped, text: string): readonly string[] {
  return [...scraped.keys()].filter((line) => line.includes(text));
}
