import type { CacheConfig } from "../config/cache-config.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { RateLimitPolicy } from "../rate-limit/policy.ts";
import { type JsonObject, withoutUnset } from "./json.ts";

/** Facts that OpenAPI cannot express, as sentences for the description and as extensions. */
export interface Notes {
  readonly sentences: readonly string[];
  readonly extensions: JsonObject;
}

export function notesOf({ rateLimit, cache }: Pick<Endpoint, "rateLimit" | "cache">): Notes {
  const ofLimit = rateLimit && limitNotes(rateLimit);
  const ofCache = cache && cacheNotes(cache);
  return {
    sentences: [...(ofLimit?.sentences ?? []), ...(ofCache?.sentences ?? [])],
    extensions: { ...ofLimit?.extensions, ...ofCache?.extensions },
  };
}

const LIMIT_SCOPES: Readonly<Record<RateLimitPolicy["key"], string>> = {
  ip: "per IP address",
  user: "per user",
  "user-or-ip": "per user, or per IP address without one",
};

function limitNotes({ max, intervalSeconds, key }: RateLimitPolicy): Notes {
  const interval = intervalSeconds === 1 ? "second" : `${intervalSeconds} seconds`;
  return {
    sentences: [`At most ${max} ${max === 1 ? "request" : "requests"} per ${interval}, ${LIMIT_SCOPES[key]}.`],
    extensions: { "x-rate-limit": { max, interval: intervalSeconds, key } },
  };
}

function cacheNotes(cache: CacheConfig): Notes {
  if (cache.kind === "on-write") {
    return {
      sentences: [cache.action === "refresh" ? "Refreshes cached rows." : "Invalidates cached rows."],
      extensions: { "x-cache": { kind: cache.action } },
    };
  }
  if (cache.kind === "table" && !cache.isReadByTemplate) return { sentences: [], extensions: {} };
  const scheduleMs = cache.kind === "table" ? cache.refresh?.scheduleMs : cache.scheduleMs;
  const period = scheduleMs === undefined ? undefined : Math.ceil(scheduleMs / 1000);
  return {
    sentences: [
      `Rows come from a cache${period === undefined ? "" : `, refreshed every ${durationOf(period)}`}.`,
      ...(cache.allowsClientRefresh ? ["`Cache-Control: no-cache` requests fresh rows."] : []),
    ],
    extensions: { "x-cache": withoutUnset({ kind: "rows", "max-age": period }) },
  };
}

const UNITS = [
  [86_400, "day"],
  [3_600, "hour"],
  [60, "minute"],
] as const;

function durationOf(seconds: number): string {
  const [size, name] = UNITS.find(([unit]) => seconds % unit === 0) ?? [1, "second"];
  const count = seconds / size;
  return count === 1 ? name : `${count} ${name}s`;
}
