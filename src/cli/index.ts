import { add } from "./add.ts";
import { cache } from "./cache.ts";
import { call } from "./call.ts";
import { check } from "./check.ts";
import { client } from "./client.ts";
import type { Command } from "./command.ts";
import { completionOf } from "./completion.ts";
import { dev } from "./dev.ts";
import { explain } from "./explain.ts";
import { extensions } from "./extensions.ts";
import { hashPassword } from "./hash-password.ts";
import { init } from "./init.ts";
import { mcp } from "./mcp.ts";
import { openapi } from "./openapi.ts";
import { schema } from "./schema.ts";
import { serve } from "./serve.ts";
import { test } from "./test.ts";

/** The commands of `eider`. To add one, create its file and list it here. */
export const commands: readonly Command[] = [
  serve,
  dev,
  init,
  add,
  check,
  call,
  explain,
  test,
  extensions,
  cache,
  openapi,
  client,
  schema,
  mcp,
  hashPassword,
  completionOf(() => commands),
];
