import type { Method } from "../core.ts";
import { legacyVersions, modernVersions, NEWEST_LEGACY_VERSION } from "../protocol.ts";
import { capabilitiesOf, LIST_CACHING, type McpState } from "../state.ts";

/** Starts a legacy session. If the client requests an unsupported version, returns the newest supported one. */
const initialize: Method = {
  name: "initialize",
  protocols: ["legacy"],
  run({ params, owner, sender, state }) {
    const { protocolVersion } = params;
    const isKnown = typeof protocolVersion === "string" && legacyVersions.includes(protocolVersion);
    const version = isKnown ? protocolVersion : NEWEST_LEGACY_VERSION;
    const { serverInfo } = state.service;
    const head = `"protocolVersion":"${version}","capabilities":${capabilitiesOf("legacy", state.settings)}`;
    const result = `{${head},"serverInfo":${JSON.stringify(serverInfo)}${instructions(state)}}`;
    const session = sender.openSession(owner);
    return session === undefined ? result : { result, headers: ["Mcp-Session-Id", session.id] };
  },
};

const ping: Method = { name: "ping", protocols: ["legacy"], run: () => "{}" };

/** The optional first request of a modern client. */
const discover: Method = {
  name: "server/discover",
  protocols: ["modern"],
  run({ state }) {
    const capabilities = capabilitiesOf("modern", state.settings);
    const members = `"supportedVersions":${JSON.stringify(modernVersions)},"capabilities":${capabilities}`;
    return state.resultBuilder.result("modern", members + instructions(state), LIST_CACHING);
  },
};

function instructions({ service }: McpState): string {
  return service.instructions === undefined ? "" : `,"instructions":${JSON.stringify(service.instructions)}`;
}

export const lifecycleMethods: readonly Method[] = [initialize, ping, discover];
