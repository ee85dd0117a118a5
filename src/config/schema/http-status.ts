import type { z } from "zod";
import { block, status } from "./blocks.ts";

const constraintFailure = status(["500", "client-error"]);
const created = status(["200", "201"]);
const nothingChanged = status(["200", "404"]);

/** The statuses of the writes of a project. */
export const httpStatus = block({
  "constraint-failure": constraintFailure
    .prefault("500")
    .describe("client-error: 409 for unique and exclusion constraints, 422 for others."),
  created: created.prefault("200").describe("Status of a POST that changed rows."),
  "nothing-changed": nothingChanged.prefault("200").describe("Status of a PUT, PATCH or DELETE that changed no row."),
});

/** The same for one endpoint. Each key that it leaves out comes from the main file. */
export const ownHttpStatus = block({
  "constraint-failure": constraintFailure.optional(),
  created: created.optional(),
  "nothing-changed": nothingChanged.optional(),
});

export type HttpStatusInput = z.output<typeof httpStatus>;
export type OwnHttpStatusInput = z.output<typeof ownHttpStatus>;
