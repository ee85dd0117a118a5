/** A YAML node, independent of the library, because there are two parsers. */
export type YamlNode = YamlScalar | YamlMap | YamlList | YamlAlias;

export interface YamlScalar {
  readonly kind: "scalar";
  /** The value in YAML 1.2. */
  readonly value: string | number | bigint | boolean | null;
  /** The characters as written, without quotes. */
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

/** The value of a key that has none. */
export function emptyScalar(start: number): YamlScalar {
  return { kind: "scalar", value: null, source: "", style: "plain", start, end: start };
}
