/** YAML as it was written, without the library's own node types: one file is read by one of two parsers. */
export type YamlNode = YamlScalar | YamlMap | YamlList | YamlAlias;

export interface YamlScalar {
  readonly kind: "scalar";
  /** What YAML 1.2 makes of it. */
  readonly value: string | number | bigint | boolean | null;
  /** The characters it was written in, without quotes. */
  readonly source: string;
  readonly style: "plain" | "single" | "double" | "block";
  readonly start: number;
  readonly end: number;
  readonly anchor?: string | undefined;
}

export interface YamlMap {
  readonly kind: "map";
  readonly pairs: readonly YamlPair[];
  readonly start: number;
  readonly anchor?: string | undefined;
}

export interface YamlPair {
  readonly key: YamlNode;
  readonly value: YamlNode;
}

export interface YamlList {
  readonly kind: "list";
  readonly items: readonly YamlNode[];
  readonly start: number;
  readonly anchor?: string | undefined;
}

export interface YamlAlias {
  readonly kind: "alias";
  readonly name: string;
  readonly start: number;
}

/** A key without a value. */
export function nothing(start: number): YamlScalar {
  return { kind: "scalar", value: null, source: "", style: "plain", start, end: start };
}
