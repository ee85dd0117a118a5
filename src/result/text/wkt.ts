/** Converts a geometry from well-known binary to well-known text. */
export function wktOf(wkb: Uint8Array): string {
  return readGeometry({ view: new DataView(wkb.buffer, wkb.byteOffset, wkb.byteLength), at: 0 }).text;
}

interface Reader {
  readonly view: DataView;
  at: number;
}

const NAMES = [
  "POINT",
  "LINESTRING",
  "POLYGON",
  "MULTIPOINT",
  "MULTILINESTRING",
  "MULTIPOLYGON",
  "GEOMETRYCOLLECTION",
] as const;

/** `text` is the whole geometry (`POINT Z (1 2 3)`). `body` is the part after its name (`(1 2 3)` or `EMPTY`). */
interface Geometry {
  readonly text: string;
  readonly body: string;
}

function readGeometry(reader: Reader): Geometry {
  const littleEndian = reader.view.getUint8(reader.at) === 1;
  const code = reader.view.getUint32(reader.at + 1, littleEndian);
  reader.at += 5;
  const shape = { littleEndian, ...dimensionsOf(code) };
  const name = NAMES[shape.base - 1];
  if (name === undefined) throw new Error(`Unknown geometry type ${code}`);
  const body = readBody(reader, name, shape);
  return { text: `${name}${shape.suffix} ${body}`, body };
}

interface Shape {
  readonly littleEndian: boolean;
  readonly base: number;
  readonly suffix: string;
  readonly dimensions: number;
}

/** To the type, ISO WKB adds 1000 for Z and 2000 for M. The extended WKB of PostGIS sets the highest bits instead. */
function dimensionsOf(code: number): Omit<Shape, "littleEndian"> {
  const plain = code & 0x0fff_ffff;
  const thousands = Math.trunc(plain / 1000);
  const z = thousands === 1 || thousands === 3 || code >>> 31 === 1;
  const m = thousands === 2 || thousands === 3 || ((code >>> 30) & 1) === 1;
  return {
    base: plain % 1000,
    suffix: z || m ? ` ${z ? "Z" : ""}${m ? "M" : ""}` : "",
    dimensions: 2 + Number(z) + Number(m),
  };
}

function readBody(reader: Reader, name: (typeof NAMES)[number], shape: Shape): string {
  switch (name) {
    case "POINT": {
      const point = readPoint(reader, shape);
      return point === undefined ? "EMPTY" : `(${point})`;
    }
    case "LINESTRING":
      return readMany(reader, shape, () => readPoint(reader, shape) ?? "EMPTY");
    case "POLYGON":
      return readMany(reader, shape, () => readMany(reader, shape, () => readPoint(reader, shape) ?? "EMPTY"));
    case "MULTIPOINT":
      return readMany(reader, shape, () => withoutParentheses(readGeometry(reader).body));
    case "MULTILINESTRING":
    case "MULTIPOLYGON":
      return readMany(reader, shape, () => readGeometry(reader).body);
    case "GEOMETRYCOLLECTION":
      return readMany(reader, shape, () => readGeometry(reader).text);
  }
}

function readMany(reader: Reader, { littleEndian }: Shape, read: () => string): string {
  const count = reader.view.getUint32(reader.at, littleEndian);
  reader.at += 4;
  const parts: string[] = [];
  for (let part = 0; part < count; part++) parts.push(read());
  return count === 0 ? "EMPTY" : `(${parts.join(", ")})`;
}

/** Undefined for an empty point, whose coordinates are all NaN. */
function readPoint(reader: Reader, { littleEndian, dimensions }: Shape): string | undefined {
  const coordinates = Array.from({ length: dimensions }, (_, index) =>
    reader.view.getFloat64(reader.at + index * 8, littleEndian),
  );
  reader.at += dimensions * 8;
  return coordinates.every(Number.isNaN) ? undefined : coordinates.map(coordinateText).join(" ");
}

/** As DuckDB prints it: the shortest digits, with an exponent of at least two digits outside 0.0001 to 10^16. */
function coordinateText(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return Object.is(value, -0) ? "-0" : "0";
  if (size >= 1e-4 && size < 1e16) return String(value);
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value < 0 ? "-inf" : "inf";
  return value.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
}

function withoutParentheses(body: string): string {
  return body.startsWith("(") ? body.slice(1, -1) : body;
}
