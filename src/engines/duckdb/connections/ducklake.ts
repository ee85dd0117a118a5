import { attach, type ConnectionType, extension, settingsFrom, statements } from "./connection-type.ts";

/** A DuckLake catalog, attached. */
export const ducklake: ConnectionType = {
  type: "ducklake",
  options: ["metadata-path", "data-path"],
  required: [["metadata-path"]],
  expand: (options, context) =>
    statements(
      extension("ducklake"),
      attach(context, {
        address: `ducklake:${options["metadata-path"] ?? ""}`,
        settings: settingsFrom(options, { "data-path": "DATA_PATH" }),
      }),
    ),
};
