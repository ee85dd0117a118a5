import { expect, test } from "vitest";
import { serviceFrom } from "../service.ts";

test("cached results keep the order of their query, though DuckDB need not keep that of tables", async () => {
  await using service = await serviceFrom({
    "eider.yaml": "connections: { db: {} }\nduckdb: { preserve_insertion_order: 'false', threads: '4' }\n",
    "x.yaml":
      "url-path: /x\ntemplate-source: x.sql\nconnection: [db]\nwith-pagination: false\ncache: { table: x, schedule: 1h }\n",
    "x.sql": "SELECT hash(range)::VARCHAR AS x FROM range(600000) ORDER BY x ASC",
  });
  for (const state of ["miss", "hit"]) {
    const answer = await service.get("/x?format=csv");
    expect(answer.headers.get("x-cache")).toBe(state);
    const lines = (await answer.text()).trimEnd().split("\r\n").slice(1);
    expect(lines).toHaveLength(600_000);
    expect(lines.findIndex((line, index) => index > 0 && line < (lines[index - 1] ?? ""))).toBe(-1);
  }
});
