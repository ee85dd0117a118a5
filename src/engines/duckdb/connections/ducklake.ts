import { attach, type ConnectionType, extension, settingsFrom, statements } from "./connection-type.ts";

const SETTINGS = {
  "data-path": "DATA_PATH",
  "metadata-schema": "METADATA_SCHEMA",
  "snapshot-version": "SNAPSHOT_VERSION",
  "snapshot-time": "SNAPSHOT_TIME",
};

/** A DuckLake catalog, attached. */
export const ducklake: ConnectionType = {
  type: "ducklake",
  options: ["metadata-path", ...Object.keys(SETTINGS)],
  required: [["metadata-path"]],
  values: { "snapshot-version": "integer" },
  expand(options, context) {
    const { "metadata-path": path = "" } = options;
    const [, database] = /^(postgres|mysql|sqlite):/i.exec(path) ?? [];
    return statements(
      extension("ducklake"),
      database === undefined ? [] : extension(database.toLowerCase()),
      attach(context, { address: `ducklake:${path}`, settings: settingsFrom(options, SETTINGS) }),
    );
  },
};
