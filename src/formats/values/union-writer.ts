import { inLayout } from "../../result/chunk.ts";
import { bindAll, type Cell } from "./cell.ts";
import type { Sink } from "./sink.ts";
import type { Writer } from "./writer.ts";

/** Writes only the value, not the name of its member. `writeCell` is the function of the format. */
export function unionWriter(
  members: readonly Cell[],
  sink: Sink,
  writeCell: (sink: Sink, at: number, cell: Cell, row: number) => number,
): Writer {
  let tags: Uint8Array = new Uint8Array(0);
  return {
    kind: "bound",
    width: members.reduce((widest, member) => Math.max(widest, member.width), 4),
    bind(vector) {
      const union = inLayout(vector, "union");
      tags = union.tags;
      bindAll(members, union.children);
    },
    write(row, at) {
      const member = members[tags[row] ?? 0];
      if (member === undefined) throw new Error(`Expected one of ${members.length} members, got ${tags[row]}`);
      return writeCell(sink, at, member, row);
    },
  };
}
