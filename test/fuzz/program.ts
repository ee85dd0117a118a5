import { type Program, start } from "../process/program.ts";
import { must } from "./target.ts";

/** A program that listens, and whether it is well. */
interface Listening {
  readonly url: string;
  readonly mcpUrl: string;
  /** Rejects unless the program runs, answers at once and has nothing unexpected to tell. */
  isWell(): Promise<void>;
}

const plain = (path: string, sql: string): string =>
  `url-path: ${path}\ntemplate-source: ${sql}\nconnection: [memory]\nwith-pagination: false\n`;

const FIELDS = (location: string): string => `request:
  - { field-name: id, field-in: ${location}, validators: [{ type: int, min: 0, max: 1000 }] }
  - { field-name: price, field-in: ${location}, validators: [{ type: number }] }
  - { field-name: day, field-in: ${location}, validators: [{ type: date }] }
  - { field-name: at, field-in: ${location}, validators: [{ type: time }] }
  - { field-name: key, field-in: ${location}, validators: [{ type: uuid }] }
  - { field-name: mail, field-in: ${location}, validators: [{ type: email }] }
  - { field-name: on, field-in: ${location}, validators: [{ type: boolean }] }
  - { field-name: sort, field-in: ${location}, default: id, validators: [{ type: enum, allowedValues: [id, name] }] }
  - { field-name: word, field-in: ${location}, validators: [{ type: string, max: 100, regex: "[a-z']*" }] }
  - { field-name: q, field-in: ${location} }
`;

const tool = (name: string): string => `mcp-tool: { name: ${name}, description: Tries }\n`;

/** No template here can fail: a 5xx is never theirs. */
const files = {
  "eider.yaml": `http-port: 0
connections:
  memory:
    init: CREATE TABLE notes (text VARCHAR); CREATE TABLE items AS SELECT range AS id, 'n' || range AS name FROM range(1000);
cors: { allow-origins: [https://app.example.com] }
mcp: { port: 0, tasks: { after-ms: 1, ttl-ms: 10000 } }
`,
  "hello.yaml": `${plain("/hello", "hello.sql")}${tool("hello")}`,
  "hello.sql": "SELECT 'hello' AS say",
  "items.yaml": `${plain("/items", "items.sql").replace("false", "true")}${tool("items")}${FIELDS("query")}`,
  "items.sql": `SELECT id, name, '{{{params.q}}}' AS q, {{params.word}} AS word, {{params.price}} AS price, {{params.day}} AS day,
  {{params.at}} AS at, {{params.key}} AS key, '{{{params.mail}}}' AS mail, {{params.on}} AS "on"
FROM items {{#params.id}}WHERE id >= {{params.id}}{{/params.id}} ORDER BY {{{params.sort}}}`,
  "path.yaml": `${plain("/path/:p/:n", "path.sql")}request:\n  - { field-name: p, field-in: path }\n  - { field-name: n, field-in: path, validators: [{ type: int }] }\n`,
  "path.sql": "SELECT {{params.p}} AS p, {{params.n}} AS n",
  "echo.yaml": `${plain("/echo", "echo.sql")}${tool("echo")}method: POST\noperation: { type: Read }\nrequest:\n  - { field-name: b, field-in: body }\n  - { field-name: c, field-in: body }\n  - { field-name: x_word, field-in: header }\n`,
  "echo.sql": "SELECT {{params.b}} AS b, '{{{params.c}}}' AS c, {{params.x_word}} AS x_word",
  "typed.yaml": `${plain("/typed", "items.sql")}method: POST\noperation: { type: Read }\nrequest-fields-validation: true\n${FIELDS("body")}`,
  "write.yaml": `${tool("write")}url-path: /write\nmethod: PUT\ntemplate-source: write.sql\nconnection: [memory]\noperation: { type: Write, returns-data: true }\nrequest:\n  - { field-name: b, field-in: body }\n`,
  "write.sql": "INSERT INTO notes VALUES ({{params.b}}) RETURNING text",
  "pair.yaml": `mcp-resource: { name: "pair/{a}-{b}", description: Tries }\nconnection: [memory]\nwith-pagination: false\ntemplate-source: pair.sql\nrequest:\n  - { field-name: a, field-in: path }\n  - { field-name: b, field-in: path }\n  - { field-name: c, field-in: query, validators: [{ type: enum, allowedValues: [x, y] }] }\n`,
  "pair.sql": "SELECT {{params.a}} AS a, '{{{params.b}}}' AS b, '{{{params.c}}}' AS c",
  "letter.yaml": `mcp-prompt: { name: letter, description: Tries, template: "{{v}} {{#c}}{{c}}{{/c}}", arguments: [v, c] }\n`,
  "private.yaml": `${plain("/private", "hello.sql")}auth: { type: basic, users: [{ username: ann, password: secret, roles: [a] }] }\n`,
  "token.yaml": `${plain("/token", "hello.sql")}auth: { type: bearer, jwt-secret: "a secret with more than thirty-two bytes" }\n`,
};

let program: Promise<Program> | undefined;

/** The real program: what ends a process ends this one, and not the test. It is started once, for all targets. */
export async function listenForFuzz(): Promise<Listening> {
  program ??= start(files, { args: ["serve", "--log-format", "json"] });
  const { url: ready, mcpUrl: mcpReady, hasExited, stdout, stderr } = await program;
  const url = await ready();
  return {
    url,
    mcpUrl: await mcpReady(),
    async isWell() {
      must(!hasExited(), () => `the program ended:\n${stderr().slice(-2000)}`);
      const answer = await fetch(`${url}/health`, { signal: AbortSignal.timeout(10_000) });
      must(answer.status === 200, () => `/health answers ${answer.status}`);
      await answer.arrayBuffer();
      const printed = stdout() + stderr();
      must(!printed.includes('"level":"error"'), () => `the program reports: ${printed.slice(-2000)}`);
    },
  };
}

/** Ends it, if it was started. */
export async function endProgram(): Promise<void> {
  await (await program)?.[Symbol.asyncDispose]();
}
