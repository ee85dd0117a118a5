import type { Table } from "./table.ts";

const ROWS = [
  [1, "Trail tent", "camping", "189.00", "2024-03-04"],
  [2, "Down sleeping bag", "camping", "149.50", "2024-03-04"],
  [3, "Gas stove", "camping", "39.95", "2024-03-11"],
  [4, "Steel mug", "camping", "9.90", "2024-04-02"],
  [5, "Headlamp", "camping", "34.00", "2024-09-16"],
  [6, "Climbing rope, 60 m", "climbing", "159.00", "2024-02-19"],
  [7, "Harness", "climbing", "64.90", "2024-02-19"],
  [8, "Helmet", "climbing", "59.00", "2024-05-27"],
  [9, "Chalk bag", "climbing", "14.50", "2024-06-03"],
  [10, "Belay device", "climbing", "24.90", "2025-01-13"],
  [11, "Hiking boots", "shoes", "169.00", "2024-01-08"],
  [12, "Trail running shoes", "shoes", "129.00", "2024-01-08"],
  [13, "Approach shoes", "shoes", "139.00", "2024-07-22"],
  [14, "Camp sandals", "shoes", "49.95", "2025-04-28"],
  [15, "Rain jacket", "clothing", "119.00", "2024-08-05"],
  [16, "Fleece sweater", "clothing", "69.95", "2024-08-05"],
  [17, "Merino shirt", "clothing", "54.50", "2024-10-14"],
  [18, "Hiking trousers", "clothing", "84.00", "2025-02-10"],
  [19, "Wool socks", "clothing", "15.90", "2025-02-10"],
  [20, "Sun hat", "clothing", "29.00", "2025-05-19"],
] as const;

/** The sample data of a new project. */
export const SAMPLE_FILE = "data/products.csv";

export function sampleText(): string {
  const lines = ROWS.map((row) => row.map((cell) => (String(cell).includes(",") ? `"${cell}"` : cell)).join(","));
  return ["id,name,category,price,added", ...lines, ""].join("\n");
}

const id = { name: "id", type: { kind: "integer", bits: 64, signed: true } } as const;

/** The table that Eider finds in the sample data. */
export const SAMPLE_TABLE: Table = {
  title: "products",
  connection: "products",
  path: ["products"],
  columns: [
    id,
    { name: "name", type: { kind: "text" } },
    { name: "category", type: { kind: "text" } },
    { name: "price", type: { kind: "float", bits: 64 } },
    { name: "added", type: { kind: "date" } },
  ],
  key: { column: id, isVerified: true },
  isSlowToCount: false,
};
