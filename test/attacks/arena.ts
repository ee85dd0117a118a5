import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defaultMcpSettings } from "../../src/config/mcp-config.ts";
import type { ServiceEvent } from "../../src/events.ts";
import { listen } from "../../src/http/listen.ts";
import { openMcpSurface } from "../../src/serving/mcp-surface.ts";
import { serviceFrom, type TestService } from "../service.ts";
import { hangUp } from "./kept-connection.ts";
import { briefEcho, echo, narrowValidators, secondOrder, textValidators, write } from "./places.ts";
import type { Sender, Target } from "./sender.ts";
import { senders } from "./senders.ts";

/** What may never leave: the content of a table, of a file, of the environment. */
const MARKS = ["token-of-the-secret-table", "content-of-the-canary-file", "value-of-the-environment"] as const;
const [SECRET_ROW, FILE_CONTENT, ENVIRONMENT] = MARKS;

/** A service with every place behind every sender, and things around it that an attack would touch. */
export interface Arena extends AsyncDisposable {
  readonly service: TestService;
  readonly urls: Readonly<Record<Sender["surface"], string>>;
  /** The text with the real names of the file and the folder. */
  aim(text: string): string;
  /** What an attack could change: tables with their rows, databases, settings, files. */
  state(): Promise<unknown>;
  /** What was written by the service's own endpoint. */
  notes(): Promise<readonly unknown[]>;
  /** The marks that stand in an answer. */
  leaks(answer: string): readonly string[];
  /** What the service did not expect to happen. */
  unexpected(): readonly ServiceEvent[];
}

/** The endpoints of one sender, by what they try. */
export function targetsOf(sender: Sender): Readonly<Record<string, Target>> {
  const one = (name: string, validators = "", yaml = "with-pagination: false\n"): Target => ({
    name,
    does: name === "write" ? "write" : "read",
    yaml,
    fields: { v: validators },
  });
  const validated = Object.entries(textValidators)
    .filter(([name]) => sender.hasFields || name === "none")
    .map(([name, validators]): [string, Target] => [name, one(name, validators)]);
  const targets: Readonly<Record<string, Target>> = {
    ...Object.fromEntries(validated),
    paged: one("paged", "", "with-pagination: true\n"),
    // Every text makes a snapshot of its own, which takes its time: two ways are enough to see that keys are values.
    ...(["body", "token"].includes(sender.name)
      ? { cached: one("cached", "", "with-pagination: false\ncache: { schedule: 10m }\n") }
      : {}),
    wrapped: one("wrapped"),
    unwrapped: one("unwrapped"),
    write: one("write", "", ""),
    ...(sender.hasFields ? { narrow: { ...one("narrow"), fields: narrowValidators } } : {}),
  };
  const { only = Object.keys(targets) } = sender;
  return Object.fromEntries(Object.entries(targets).filter(([name]) => only.includes(name)));
}

function templateOf({ variable }: Sender, { name, fields }: Target): string {
  switch (name) {
    case "wrapped":
    case "unwrapped":
      return secondOrder(variable("v"))[name];
    case "write":
      return write(variable("v"));
    case "none":
      return echo(variable("v")).sql;
    case "narrow":
      return `SELECT ${Object.keys(fields).map((field) => `{{${variable(field)}}} AS ${field}`)}`;
    default:
      return briefEcho(variable("v")).sql;
  }
}

const MAIN = `
connections:
  memory:
    init: |
      CREATE TABLE canary (id INTEGER, name VARCHAR);
      INSERT INTO canary VALUES (1, 'ann'), (2, 'bob'), (3, '%');
      CREATE VIEW canary_view AS SELECT id FROM canary;
      CREATE TABLE secret_rows (token VARCHAR);
      INSERT INTO secret_rows VALUES ('${SECRET_ROW}');
      CREATE TABLE notes (bare VARCHAR, part VARCHAR);
template:
  environment-whitelist: [EIDER_ATTACK_CANARY]
mcp: { port: 0 }
`;

/** A prompt has no template in SQL: a text goes around the database. */
const PROMPT = `
mcp-prompt:
  name: prompt
  description: Says it
  template: "<{{v}}> {{#v}}[{{{v}}}]{{/v}}{{^v}}nothing{{/v}}"
  arguments: [v]
`;

const STATE = `
SELECT
  (SELECT list(t ORDER BY t) FROM (SELECT concat_ws(' ', table_name, sql) AS t FROM duckdb_tables() WHERE NOT internal AND database_name <> 'cache')) AS tables,
  (SELECT list(sql ORDER BY sql) FROM duckdb_views() WHERE NOT internal AND database_name <> 'cache') AS views,
  (SELECT list(concat_ws(' ', database_name, path) ORDER BY database_name) FROM duckdb_databases()) AS databases,
  (SELECT list(concat(name, '=', value) ORDER BY name) FROM duckdb_settings()) AS settings,
  (SELECT list(concat(function_name, macro_definition) ORDER BY function_name) FROM duckdb_functions() WHERE function_name LIKE 'sql_literal%') AS macros,
  (SELECT list(extension_name ORDER BY extension_name) FROM duckdb_extensions() WHERE loaded) AS extensions,
  (SELECT count(*) FROM duckdb_secrets()) AS secrets,
  (SELECT list(concat_ws(' ', id, name) ORDER BY id) FROM canary) AS rows,
  (SELECT list(token) FROM secret_rows) AS tokens
`;

const plain = (path: string): string => `url-path: ${path}\nwith-pagination: false\nconnection: [memory]\n`;

export async function openArena(): Promise<Arena> {
  const folder = await mkdtemp(join(tmpdir(), "eider-attacks-"));
  await mkdir(join(folder, "out"));
  await writeFile(join(folder, "canary.csv"), FILE_CONTENT);
  const files: Record<string, string> = {
    "eider.yaml": MAIN,
    "state.yaml": `${plain("/state")}template-source: state.sql\n`,
    "state.sql": STATE,
    "notes.yaml": `${plain("/notes")}template-source: notes.sql\n`,
    "notes.sql": "SELECT bare, part FROM notes",
    "prompt.yaml": PROMPT,
  };
  for (const sender of senders) {
    for (const target of Object.values(targetsOf(sender))) {
      const name = `${sender.name}-${target.name}`;
      files[`${name}.yaml`] = `${sender.declare(target)}template-source: ${name}.sql\n`;
      files[`${name}.sql`] = templateOf(sender, target);
    }
  }
  const service = await serviceFrom(files, { EIDER_ATTACK_CANARY: ENVIRONMENT });
  const mcp = await serveMcp(service);
  return {
    service,
    urls: { rest: service.url, mcp: mcp.url },
    aim: (text) => text.replaceAll("@FILE@", join(folder, "canary.csv")).replaceAll("@FOLDER@", join(folder, "out")),
    state: async () => ({
      database: await service.json("/state"),
      written: await readdir(join(folder, "out"), { recursive: true }),
      beside: (await readdir(service.folder)).sort(),
    }),
    // The answer is the test's own list.
    notes: async () => (await service.json("/notes")) as readonly unknown[],
    leaks: (answer) => MARKS.filter((mark) => answer.includes(mark)),
    unexpected: () => [...service.events, ...mcp.events].filter(({ kind }) => kind === "unexpected"),
    async [Symbol.asyncDispose]() {
      hangUp();
      await mcp[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    },
  };
}

/** MCP on a port of its own, over the same service. */
async function serveMcp({
  service,
}: TestService): Promise<{ readonly url: string; readonly events: readonly ServiceEvent[] } & AsyncDisposable> {
  const events: ServiceEvent[] = [];
  const surface = await openMcpSurface(service, {
    settings: service.project.main.mcp ?? defaultMcpSettings(),
    observers: [],
    report: (event) => events.push(event),
    now: () => new Date(),
  });
  const listener = await listen({ host: "127.0.0.1", port: 0, handle: surface.handle });
  return {
    url: listener.url,
    events,
    async [Symbol.asyncDispose]() {
      surface.cancelAll();
      listener.destroy();
      await listener.close();
    },
  };
}
