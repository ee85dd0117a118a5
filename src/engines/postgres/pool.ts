import { type Lru, openLru } from "../../bounded/lru.ts";
import { splitStatements } from "../../sql/whole-tokens.ts";
import { postgresDialect } from "./dialect.ts";
import type { Typing } from "./parameters.ts";
import type { Plan } from "./prepared.ts";
import { openTypes, type Types } from "./types/types.ts";
import type { Connector, ServerLink } from "./wire/connect.ts";
import { openMessageWriter } from "./wire/messages.ts";

/** What all connections of one pool share. */
export interface SharedPlans {
  readonly types: Types;
  /** How the values of a statement are typed, if not as literals. */
  readonly typings: Lru<Typing>;
  /** Whether sessions keep prepared statements and settings. */
  readonly keepsSessions: boolean;
}

/** A connection that is in use. */
export interface PooledLink extends ServerLink {
  readonly shared: SharedPlans;
  /** Prepared statements, by their SQL and the types of their values. */
  readonly plans: Lru<Plan>;
  nextName(): string;
  forgetPrepared(): void;
  /** Another read or write may use it, if it still works. */
  release(): void;
}

/** Connections to one server, opened when they are needed and kept. The caller limits how many are in use. */
export interface Pool {
  /** Rejects with the error of the server or the network. */
  take(): Promise<PooledLink>;
  close(): void;
}

export interface PoolOptions {
  readonly connector: Connector;
  /** Commands that run on each new connection. */
  readonly setup: readonly string[];
  readonly keepsSessions: boolean;
}

/** Room for a few hundred statements on each connection. */
const PLANS_BYTES = 512 * 1024;
const TYPINGS_BYTES = 4 * 1024 * 1024;
/** An idle connection is closed when others were enough for this long. */
const IDLE_MS = 10 * 60_000;

export function openPool({ connector, setup, keepsSessions }: PoolOptions): Pool {
  const shared: SharedPlans = { types: openTypes(), typings: openLru({ maxBytes: TYPINGS_BYTES }), keepsSessions };
  /** The one that was used last comes last, and is used first. */
  const idle: { readonly link: PooledLink; readonly since: number }[] = [];
  const busy = new Set<PooledLink>();
  let isClosed = false;

  function add(server: ServerLink): PooledLink {
    let names = 0;
    const outdated: string[] = [];
    const plans = openLru<Plan>({ maxBytes: PLANS_BYTES, onRemove: ({ name }) => outdated.push(name) });
    const link: PooledLink = {
      ...server,
      shared,
      plans,
      // Statements that were evicted are closed with the next exchange.
      exchange: (messages, receiver) =>
        outdated.length === 0
          ? server.exchange(messages, receiver)
          : server.exchange(Buffer.concat([closing(outdated.splice(0)), messages]), receiver),
      nextName: () => `eider${++names}`,
      forgetPrepared() {
        plans.clear();
        shared.types.forget();
      },
      release() {
        busy.delete(link);
        if (link.lost() !== undefined) return;
        if (isClosed) return link.close();
        idle.push({ link, since: performance.now() });
        const [oldest] = idle;
        if (oldest !== undefined && performance.now() - oldest.since > IDLE_MS) {
          idle.shift();
          oldest.link.close();
        }
      },
    };
    server.onLost(() => {
      busy.delete(link);
      const index = idle.findIndex((each) => each.link === link);
      if (index >= 0) idle.splice(index, 1);
    });
    return link;
  }

  async function open(): Promise<PooledLink> {
    const link = add(await connector.connect());
    try {
      for (const sql of setup) {
        await link.exchange(openMessageWriter().parse("", sql, []).bind("", [], []).execute(0).sync().take(), {});
      }
    } catch (error) {
      link.close();
      throw error;
    }
    return link;
  }

  return {
    async take() {
      const link = idle.pop()?.link ?? (await open());
      busy.add(link);
      return link;
    },
    close() {
      isClosed = true;
      for (const { link } of idle.splice(0)) link.close();
      for (const link of busy) link.close();
    },
  };
}

function closing(names: readonly string[]): Buffer {
  const writer = openMessageWriter();
  for (const name of names) writer.closeStatement(name);
  return writer.take();
}

/** The commands of an `init`. */
export function initCommands(init: string | undefined): readonly string[] {
  return init === undefined ? [] : splitStatements(init, postgresDialect);
}
