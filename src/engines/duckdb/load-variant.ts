import type { Vector } from "../../result/chunk.ts";
import { textVector } from "./load-converted.ts";

const uint32 = { kind: "integer", bits: 32, signed: false } as const;
const uint8 = { kind: "integer", bits: 8, signed: false } as const;

/** What a VARIANT is inside. */
export const variantType = {
  kind: "struct",
  fields: [
    { name: "keys", type: { kind: "list", item: { kind: "text" } } },
    {
      name: "children",
      type: {
        kind: "list",
        item: {
          kind: "struct",
          fields: [
            { name: "keys_index", type: uint32 },
            { name: "values_index", type: uint32 },
          ],
        },
      },
    },
    {
      name: "values",
      type: {
        kind: "list",
        item: {
          kind: "struct",
          fields: [
            { name: "type_id", type: uint8 },
            { name: "byte_offset", type: uint32 },
          ],
        },
      },
    },
    { name: "data", type: { kind: "blob" } },
  ],
} as const;

export function variantText(stored: Extract<Vector, { layout: "struct" }>, rows: number): Vector {
  return textVector(
    Array.from({ length: rows }, () => "null"),
    stored.validity,
  );
}
