import { server } from "./server.ts";

/** A session whose network is gone ends after about 20 seconds, instead of after minutes or hours. */
const NETWORK_LIMITS = ["keepalives_idle=10", "keepalives_interval=5", "keepalives_count=2", "tcp_user_timeout=20000"];

function withNetworkLimits(address: string): string {
  if (/keepalives|tcp_user_timeout/.test(address)) return address;
  const isUrl = /^postgres(?:ql)?:/.test(address);
  if (isUrl) return `${address}${address.includes("?") ? "&" : "?"}${NETWORK_LIMITS.join("&")}`;
  return [address, ...NETWORK_LIMITS].join(" ").trim();
}

export const postgres = server({
  type: "postgres",
  options: { "ssl-mode": "SSLMODE" },
  withDefaults: withNetworkLimits,
});
