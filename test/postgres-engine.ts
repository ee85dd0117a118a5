import type { TestPostgres } from "./postgres.ts";
import { type Files, serviceFrom, type TestService } from "./service.ts";

/** The `connections` block with a connection `memory` whose SQL runs in this database of the test server. */
export function postgresConnection(
  postgres: Pick<TestPostgres, "port" | "user" | "password">,
  dsn: string,
  more = "",
): string {
  const database = /dbname=(\w+)/.exec(dsn)?.[1] ?? "";
  return `connections:
  memory:
    engine: postgres
    host: 127.0.0.1
    port: ${postgres.port}
    database: ${database}
    user: ${postgres.user}
    password: "${postgres.password.replaceAll("\\", "\\\\")}"
${more}`;
}

export interface PostgresService extends TestService {
  readonly postgres: TestPostgres;
  readonly dsn: string;
}

interface ServeOptions {
  readonly setup?: string;
  readonly files: Files;
  readonly more?: string;
  /** An existing database. */
  readonly dsn?: string;
  readonly user?: string;
  readonly password?: string;
}

/** Serves files over a new database, in which `setup` has run. `more` continues the YAML of the connection. */
export async function serveOverPostgres(
  postgres: TestPostgres,
  { setup = "", files, more = "", ...options }: ServeOptions,
): Promise<PostgresService> {
  const dsn = options.dsn ?? (await postgres.createDatabase());
  if (setup !== "") await postgres.sql(dsn, setup);
  const service = await serviceFrom({
    "eider.yaml": postgresConnection({ ...postgres, ...options }, dsn, more),
    ...files,
  });
  return { ...service, postgres, dsn };
}
