/** SQL that writes values without a Parquet type as text, as in JSON and CSV (result/text/calendar.ts). */

/** `HH:MM:SS`, and a fraction in full width unless it is zero. */
export function clockText(time: string, fractionDigits: number): string {
  return padded(`CAST(${time} AS VARCHAR)`, fractionDigits);
}

/** A time of day with its offset: `Z`, `+05:30`, `-15:59:59`. DuckDB writes `+00` and `+05`. */
export function timeWithZoneText(time: string): string {
  const text = `CAST(${time} AS VARCHAR)`;
  const zone = `regexp_extract(${text}, '[-+].*')`;
  const longZone = `CASE length(${zone}) WHEN 3 THEN ${zone} || ':00' ELSE ${zone} END`;
  return `${padded(`regexp_extract(${text}, '^[^-+]*')`, 6)} || CASE ${zone} WHEN '+00' THEN 'Z' ELSE ${longZone} END`;
}

function padded(clock: string, fractionDigits: number): string {
  return `CASE WHEN contains(${clock}, '.') THEN rpad(${clock}, ${9 + fractionDigits}, '0') ELSE ${clock} END`;
}

/** An ISO 8601 duration; each part has its own sign (`P1Y-2M`), zero is `PT0S`. */
export function durationText(interval: string): string {
  const date = ["year", "month", "day"].map((part) => partText(interval, part));
  const time = ["hour", "minute"].map((part) => partText(interval, part));
  const text = `concat('P', ${date.join(", ")}, 'T', ${time.join(", ")}, ${secondsText(interval)})`;
  return `CASE WHEN ${interval} IS NULL THEN NULL WHEN ${text} = 'PT' THEN 'PT0S' ELSE rtrim(${text}, 'T') END`;
}

function partText(interval: string, part: string): string {
  return `nullif(datepart('${part}', ${interval}), 0) || '${part.charAt(0).toUpperCase()}'`;
}

/** DuckDB's part `microsecond` includes the seconds, and has a sign. */
function secondsText(interval: string): string {
  const micros = `datepart('microsecond', ${interval})`;
  const fraction = `abs(${micros}) % 1000000`;
  return `CASE WHEN ${micros} <> 0 THEN concat(
    CASE WHEN ${micros} < 0 THEN '-' END,
    abs(${micros}) // 1000000,
    CASE WHEN ${fraction} <> 0 THEN '.' || lpad(CAST(${fraction} AS VARCHAR), 6, '0') END,
    'S') END`;
}
