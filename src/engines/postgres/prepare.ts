import type { Column } from "../../result/column.ts";
import { withUniqueNames } from "../../result/column-names.ts";
import type { Statement } from "../../sql/statement.ts";
import { isUnresolved } from "./failures.ts";
import { TYPINGS, type Typing, typesOf } from "./parameters.ts";
import type { PooledLink } from "./pool.ts";
import type { Plan, Prepared } from "./prepared.ts";
import { asText } from "./types/plain-types.ts";
import { CATALOG_SQL, type CatalogType, catalogType } from "./types/types.ts";
import type { Field, Receiver } from "./wire/link.ts";
import { openMessageWriter } from "./wire/messages.ts";

export type RunExchange = (messages: Buffer, receiver: Receiver) => Promise<void>;

/** The statement was parsed with the wrong types inside a transaction: what ran in it must be run again. */
export class WrongTypes extends Error {
  constructor() {
    super("The types of the values were wrong.");
    this.name = "WrongTypes";
  }
}

/** Prepares a statement on a connection, unless it is prepared already. */
export async function prepareOn(link: PooledLink, statement: Statement, exchange: RunExchange): Promise<Prepared> {
  const { typings } = link.shared;
  const typingKey = `${typesOf(statement.values, "as-literals").join()} ${statement.sql}`;
  let firstError: unknown;
  for (;;) {
    const typing = typings.get(typingKey) ?? TYPINGS[0];
    try {
      return { ...(await planWith(link, statement, typing, exchange)), statement };
    } catch (error) {
      firstError ??= error;
      const next = TYPINGS[TYPINGS.indexOf(typing) + 1];
      if (!isUnresolved(error) || statement.values.length === 0) throw error;
      if (next === undefined) {
        typings.delete(typingKey);
        throw firstError;
      }
      typings.set(typingKey, next);
      if (link.state() !== "idle") throw new WrongTypes();
    }
  }
}

async function planWith(link: PooledLink, statement: Statement, typing: Typing, exchange: RunExchange): Promise<Plan> {
  const types = typesOf(statement.values, typing);
  const key = `${types.join()} ${statement.sql}`;
  const known = link.plans.get(key);
  if (known !== undefined) return known;
  const name = link.shared.keepsSessions ? link.nextName() : "";
  let fields: readonly Field[] = [];
  const messages = openMessageWriter().parse(name, statement.sql, types).describeStatement(name).sync().take();
  await exchange(messages, {
    described(found) {
      fields = found;
    },
  });
  await lookUpTypes(link, fields, exchange);
  const plan = planOf(name, fields, link);
  // Without sessions, an unnamed statement is gone as soon as another one is parsed.
  if (name !== "") link.plans.set(key, plan);
  else await exchange(openMessageWriter().parse(name, statement.sql, types).sync().take(), {});
  return plan;
}

function planOf(name: string, fields: readonly Field[], link: PooledLink): Plan {
  const types = fields.map(({ type, modifier }) => link.shared.types.typeOf(type, modifier));
  const columns = fields.map(({ name }, index): Column => ({ name, type: types[index]?.column ?? asText.column }));
  return { name, columns: withUniqueNames(columns), types, formats: types.map(({ isBinary }) => (isBinary ? 1 : 0)) };
}

/** Looks up the types of columns, and the types that these consist of. */
async function lookUpTypes(link: PooledLink, fields: readonly Field[], exchange: RunExchange): Promise<void> {
  const { types } = link.shared;
  const oids = fields.map(({ type }) => type);
  for (let unknown = types.unknown(oids); unknown.length > 0; unknown = types.unknown(oids)) {
    const found: CatalogType[] = [];
    const messages = openMessageWriter()
      .parse("", CATALOG_SQL, [])
      .bind("", [`{${unknown.join()}}`], [])
      .execute(0);
    await exchange(messages.sync().take(), {
      row: (bytes, start) => void found.push(catalogType(textRow(bytes, start))),
    });
    // A type that was dropped meanwhile is returned as text.
    const dropped = unknown.filter((oid) => !found.some((type) => type.oid === oid));
    types.learn([...found, ...dropped.map((oid) => ({ oid, kind: "", item: 0, base: 0, labels: [] }))]);
  }
}

/** A row whose columns are all text. */
export function textRow(bytes: Buffer, start: number): readonly (string | null)[] {
  let at = start + 2;
  return Array.from({ length: bytes.readInt16BE(start) }, () => {
    const length = bytes.readInt32BE(at);
    at += 4;
    if (length < 0) return null;
    at += length;
    return bytes.toString("utf8", at - length, at);
  });
}
