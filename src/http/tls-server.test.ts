import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { Agent, type RequestOptions, request } from "node:https";
import { connect as connectPlain } from "node:net";
import { join } from "node:path";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import { afterEach, describe, expect, test } from "vitest";
import { type MadeCertificate, makeCertificate } from "../../test/certificates.ts";
import { type ProjectFolder, projectFolder } from "../../test/project-folder.ts";
import { openSocket } from "../../test/socket.ts";
import { until } from "../../test/until.ts";
import type { ServiceEvent } from "../events.ts";
import { ListenError, type Listener, listen, type RequestHandler } from "./listen.ts";
import { resetConnection } from "./reset.ts";
import { CertificateError } from "./tls.ts";
import type { TlsOptions } from "./tls-server.ts";

const FIRST = makeCertificate({ name: "first" });
const SECOND = makeCertificate({ name: "second" });
const TRUSTED = [FIRST.cert, SECOND.cert];

interface Serving extends AsyncDisposable {
  readonly listener: Listener;
  readonly port: number;
  readonly folder: string;
  readonly events: readonly ServiceEvent[];
}

const echo: RequestHandler = (incoming, response) => {
  incoming.resume().on("end", () => response.end(`${incoming.method} ${incoming.url}`));
};

async function serve(handle: RequestHandler = echo, more: Partial<TlsOptions> = {}): Promise<Serving> {
  const folder = projectFolder({ "cert.pem": FIRST.cert, "key.pem": FIRST.key });
  const events: ServiceEvent[] = [];
  const tls = { ...filesIn(folder), report: (event: ServiceEvent) => void events.push(event), ...more };
  const listener = await listen({ host: "127.0.0.1", port: 0, handle, tls });
  return {
    listener,
    port: portOf(listener),
    folder: folder.path,
    events,
    async [Symbol.asyncDispose]() {
      listener.destroy();
      await listener.close();
      folder[Symbol.dispose]();
    },
  };
}

function filesIn({ path }: Pick<ProjectFolder, "path">): { readonly certFile: string; readonly keyFile: string } {
  return { certFile: join(path, "cert.pem"), keyFile: join(path, "key.pem") };
}

function portOf({ url }: Listener): number {
  return Number(new URL(url).port);
}

function renew(folder: string, { cert, key }: MadeCertificate): void {
  const { certFile, keyFile } = filesIn({ path: folder });
  writeFileSync(certFile, cert);
  writeFileSync(keyFile, key);
}

const opened: TLSSocket[] = [];
afterEach(() => {
  for (const socket of opened.splice(0)) socket.destroy();
});

/** An encrypted connection whose handshake is done. */
async function secure(port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connect({ host: "127.0.0.1", port, ca: TRUSTED, ...options });
  opened.push(socket);
  await once(socket, "secureConnect");
  return socket;
}

/** Everything that comes until the end, after sending `bytes`. */
async function converse(port: number, bytes: string | Buffer): Promise<string> {
  const socket = await secure(port);
  const received: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => received.push(chunk));
  socket.on("error", () => {});
  socket.write(bytes);
  await once(socket, "close");
  return Buffer.concat(received).toString();
}

interface Answer {
  readonly status: number | undefined;
  readonly body: string;
  /** The name in the certificate that was shown. */
  readonly shown: string;
}

async function ask(port: number, options: RequestOptions = {}): Promise<Answer> {
  const asking = request({ host: "127.0.0.1", port, ca: TRUSTED, agent: false, ...options }).end();
  const [response] = await once(asking, "response");
  const shown = nameOf(response.socket);
  const chunks: Buffer[] = await response.toArray();
  return { status: response.statusCode, body: Buffer.concat(chunks).toString(), shown };
}

function nameOf(socket: TLSSocket): string {
  return String(socket.getPeerCertificate().subject.CN);
}

describe("HTTPS", () => {
  test("answers, under its own address", async () => {
    await using serving = await serve();
    expect(serving.listener.url).toBe(`https://127.0.0.1:${serving.port}`);
    expect(await ask(serving.port, { path: "/a?b" })).toEqual({ status: 200, body: "GET /a?b", shown: "first" });
    expect(await ask(serving.port, { method: "PUT" })).toMatchObject({ status: 200, body: "PUT /" });
  });

  test.each(["TLSv1.2", "TLSv1.3"] as const)("speaks %s, and HTTP/1.1 when asked", async (version) => {
    await using serving = await serve();
    const options = { minVersion: version, maxVersion: version, ALPNProtocols: ["h2", "http/1.1"] };
    const socket = await secure(serving.port, options);
    expect([socket.getProtocol(), socket.alpnProtocol]).toEqual([version, "http/1.1"]);
  });

  test.each(["TLSv1", "TLSv1.1"] as const)("does not speak %s, nor after a renewal", async (version) => {
    await using serving = await serve(echo, { checkEveryMs: 2 });
    const old: ConnectionOptions = { minVersion: version, maxVersion: version, ciphers: "DEFAULT@SECLEVEL=0" };
    await expect(secure(serving.port, old)).rejects.toThrow(/protocol version/);
    renew(serving.folder, SECOND);
    await untilShown(serving.port, "second");
    await expect(secure(serving.port, old)).rejects.toThrow(/protocol version/);
  });

  test("shows the whole chain", async () => {
    const below = makeCertificate({ name: "below", issuer: FIRST });
    const leaf = makeCertificate({ name: "leaf", issuer: below });
    using folder = projectFolder({ "cert.pem": leaf.cert + below.cert, "key.pem": leaf.key });
    const listener = await listen({
      host: "127.0.0.1",
      port: 0,
      handle: echo,
      tls: { ...filesIn(folder), report: () => {} },
    });
    expect(await ask(portOf(listener), { ca: FIRST.cert })).toMatchObject({ status: 200, shown: "leaf" });
    await listener.close();
  });

  test("a certificate that cannot be used opens no port", async () => {
    using folder = projectFolder({ "cert.pem": FIRST.cert, "key.pem": SECOND.key });
    const tls = { ...filesIn(folder), report: () => {} };
    const opening = listen({ host: "127.0.0.1", port: 0, handle: echo, tls });
    await expect(opening).rejects.toThrow(CertificateError);
  });

  test("a port that is taken", async () => {
    await using serving = await serve();
    const tls = { ...filesIn({ path: serving.folder }), report: () => {} };
    const opening = listen({ host: "127.0.0.1", port: serving.port, handle: echo, tls });
    await expect(opening).rejects.toThrow(ListenError);
  });
});

describe("what is malformed gets the answer that it gets over plain HTTP", () => {
  const get = (target: string, headers = ""): string => `GET ${target} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;

  test.each<[string, string | Buffer, number]>([
    ["no request line", "\0\0\0\0\r\n\r\n", 400],
    ["an unknown method", get("/").replace("GET", "BREW"), 400],
    ["no Host", "GET / HTTP/1.1\r\n\r\n", 400],
    ["two Hosts", get("/", "Host: y\r\n"), 400],
    ["a header without a colon", get("/", "nonsense\r\n"), 400],
    ["two lengths", get("/", "Content-Length: 1\r\nContent-Length: 2\r\n"), 400],
    ["a header of 64 KiB", get("/", `a: ${"x".repeat(65_536)}\r\n`), 431],
    ["1,500 headers", get("/", "a:\r\n".repeat(1_500)), 431],
    ["CONNECT", "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", 405],
    ["an unknown expectation", get("/", "Expect: nonsense\r\n"), 417],
    ["nonsense after a request", `${get("/a")}nonsense\r\n\r\n`, 400],
    ["the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505],
    ["version 2.0", get("/").replace("1.1", "2.0"), 505],
    ["gzip below the chunks", get("/", "Transfer-Encoding: gzip, chunked\r\n"), 501],
    ["TLS within TLS", Buffer.from("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", "latin1"), 400],
  ])("%s", async (_, bytes, status) => {
    await using serving = await serve();
    const plain = await listen({ host: "127.0.0.1", port: 0, handle: echo });
    using socket = await openSocket(plain.url);
    socket.send(bytes);
    await socket.untilClosed();
    socket.close();
    const same = (text: string): string => text.replace(/X-Request-Id: \S+|Date: [^\r]+/g, "");
    const answer = await converse(serving.port, bytes);
    expect(answer).toContain(`HTTP/1.1 ${status} `);
    expect(same(answer)).toBe(same(socket.received().toString()));
    expect((await ask(serving.port)).status).toBe(200);
    await plain.close();
  });

  test("a body that breaks off", async () => {
    await using serving = await serve();
    const socket = await secure(serving.port, { allowHalfOpen: true } as ConnectionOptions);
    socket.end("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\n{}");
    const answer = Buffer.concat(await socket.toArray()).toString();
    expect(answer).toMatch(/^HTTP\/1\.1 400 [\s\S]*\{"error":"Bad Request"\}$/);
  });
});

describe("what is no TLS", () => {
  test.each<[string, string | Buffer]>([
    ["plain HTTP", "GET / HTTP/1.1\r\nHost: x\r\n\r\n"],
    ["a long plain request", `GET / HTTP/1.1\r\nHost: x\r\na: ${"x".repeat(100_000)}\r\n\r\n`],
    ["zeros", Buffer.alloc(1_000)],
    ["an unknown version", Buffer.from("160901000100", "hex")],
    ["a hello that is none", Buffer.from("16030100050100000100", "hex")],
    ["SSL 2", Buffer.from(`802e0100020015000000100100800200800600400700c0${"00".repeat(25)}`, "hex")],
  ])("%s: the connection is closed, and nobody else notices", async (_, bytes) => {
    let calls = 0;
    await using serving = await serve((incoming, response) => {
      calls++;
      echo(incoming, response);
    });
    using socket = await openSocket(serving.listener.url);
    socket.send(bytes);
    await socket.untilClosed();
    expect(socket.received().toString("latin1")).not.toContain("HTTP/");
    expect(calls).toBe(0);
    expect(await ask(serving.port)).toMatchObject({ status: 200, shown: "first" });
    expect(serving.events).toEqual([]);
  });

  test("a handshake that never ends is cut", async () => {
    await using serving = await serve(echo, { handshakeTimeoutMs: 50 });
    for (const bytes of ["", Buffer.from("1603010200010001fc0303", "hex")]) {
      using socket = await openSocket(serving.listener.url);
      if (bytes.length > 0) socket.send(bytes);
      await socket.untilClosed();
    }
    // A busy machine may take too long for a handshake of its own.
    await until("an answer", async () => (await ask(serving.port).catch(() => undefined))?.status === 200);
  });

  test("clients that reset in the middle of a handshake, or after it", async () => {
    await using serving = await serve();
    for (let count = 0; count < 20; count++) {
      const raw = connectPlain(serving.port, "127.0.0.1");
      await once(raw, "connect");
      raw.write(Buffer.from("1603010200010001fc0303", "hex"));
      raw.resetAndDestroy();
      const carrier = connectPlain(serving.port, "127.0.0.1");
      await once(carrier, "connect");
      const socket = await secure(serving.port, { socket: carrier });
      socket.on("error", () => {});
      socket.write("GET / HTTP/1.1\r\nHost: x\r\n");
      carrier.resetAndDestroy();
    }
    // Every connection has been heard of before this one: an error that nobody hears would have ended the process.
    expect((await ask(serving.port)).status).toBe(200);
  });

  test("a client that does not trust the certificate leaves, and nobody else notices", async () => {
    await using serving = await serve();
    await expect(ask(serving.port, { ca: SECOND.cert })).rejects.toThrow("self-signed certificate");
    expect((await ask(serving.port)).status).toBe(200);
  });
});

/** Waits until new connections are shown a certificate. */
async function untilShown(port: number, name: string): Promise<void> {
  const deadline = performance.now() + 10_000;
  while ((await ask(port)).shown !== name) {
    if (performance.now() > deadline) throw new Error(`certificate ${name} was not shown`);
  }
}

describe("a certificate that changes", () => {
  test("new connections see the new one, open ones go on", async () => {
    let finish = (): void => {};
    await using serving = await serve(
      (incoming, response) => {
        if (incoming.url !== "/slow") return echo(incoming, response);
        response.write("begun, ");
        finish = () => response.end("finished");
      },
      { checkEveryMs: 2 },
    );
    const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: TRUSTED });
    const idle = await secure(serving.port);
    expect(await ask(serving.port, { agent })).toMatchObject({ status: 200, shown: "first" });
    const slow = request({ host: "127.0.0.1", port: serving.port, path: "/slow", ca: TRUSTED, agent: false }).end();
    const [response] = await once(slow, "response");

    renew(serving.folder, SECOND);
    await untilShown(serving.port, "second");

    // The same connection as before.
    expect(await ask(serving.port, { agent })).toMatchObject({ status: 200, shown: "first" });
    finish();
    expect(Buffer.concat(await response.toArray()).toString()).toBe("begun, finished");
    idle.write("GET /idle HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    expect(Buffer.concat(await idle.toArray()).toString()).toContain("GET /idle");
    expect(await ask(serving.port)).toMatchObject({ status: 200, shown: "second" });
    expect(serving.events).toEqual([]);
    agent.destroy();
  });

  test("a session of the old one is not resumed under the new one", async () => {
    await using serving = await serve(echo, { checkEveryMs: 2 });
    const before = await secure(serving.port, { maxVersion: "TLSv1.2" });
    const session = before.getSession();
    if (session === undefined) throw new Error("no session");
    const again = await secure(serving.port, { maxVersion: "TLSv1.2", session });
    expect(again.isSessionReused()).toBe(true);
    renew(serving.folder, SECOND);
    await untilShown(serving.port, "second");
    const after = await secure(serving.port, { maxVersion: "TLSv1.2", session });
    expect([after.isSessionReused(), nameOf(after)]).toEqual([false, "second"]);
  });

  test("for a bad one is reported, and the old one is shown until there is a good one", async () => {
    await using serving = await serve(echo, { checkEveryMs: 2 });
    writeFileSync(join(serving.folder, "key.pem"), SECOND.key);
    await until("the report", () => serving.events.length > 0);
    expect(await ask(serving.port)).toMatchObject({ status: 200, shown: "first" });
    const dependency = `certificate ${join(serving.folder, "cert.pem")}`;
    expect(serving.events).toEqual([
      { kind: "dependency-down", dependency, message: expect.stringContaining("is not the key of") },
    ]);
    writeFileSync(join(serving.folder, "cert.pem"), SECOND.cert);
    await untilShown(serving.port, "second");
    expect(serving.events.slice(1)).toEqual([{ kind: "dependency-up", dependency }]);
  });
});

describe("the end", () => {
  test("calls in flight are answered, those that have begun to come too; all else is closed at once", async () => {
    const finish: (() => void)[] = [];
    await using serving = await serve((incoming, response) => {
      finish.push(() => response.end(`done ${incoming.url}`));
    });
    const idle = (await secure(serving.port)).resume();
    const late = await secure(serving.port);
    late.write("GET /late HTTP/1.1\r\n");
    using shaking = await openSocket(serving.listener.url);
    shaking.send(Buffer.from("1603010200010001fc0303", "hex"));
    const answer = ask(serving.port);
    await until("the call", () => finish.length === 1);

    let isClosed = false;
    const closed = serving.listener.close().then(() => {
      isClosed = true;
    });
    await shaking.untilClosed();
    await until("the end of an idle connection", () => idle.closed);
    await expect(ask(serving.port)).rejects.toThrow("ECONNREFUSED");
    late.write("Host: x\r\n\r\n");
    await until("the late call", () => finish.length === 2);
    expect(isClosed).toBe(false);
    for (const one of finish) one();
    expect(await answer).toMatchObject({ status: 200, body: "done /" });
    expect(Buffer.concat(await late.toArray()).toString()).toMatch(/Connection: close\r\n[\s\S]*done \/late/);
    await closed;
  });

  test("destroy ends everything, whatever state it is in", async () => {
    let calls = 0;
    await using serving = await serve(() => {
      calls++;
    });
    const idle = (await secure(serving.port)).resume();
    using shaking = await openSocket(serving.listener.url);
    const answer = ask(serving.port).catch((error: unknown) => error);
    await until("the call", () => calls === 1);
    const closed = serving.listener.close();
    serving.listener.destroy();
    await closed;
    expect(await answer).toBeInstanceOf(Error);
    await until("the end of an idle connection", () => idle.closed);
    await shaking.untilClosed();
  });

  test("nobody looks at the files any more", async () => {
    const serving = await serve(echo, { checkEveryMs: 1 });
    await serving.listener.close();
    await serving[Symbol.asyncDispose]();
    // The folder is gone: a watcher that still ran would soon report two problems.
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(serving.events).toEqual([]);
  });

  describe("a connection can be reset, so that half an answer is not taken for a whole one", () => {
    let reset = (): void => {};
    /** Sends half an answer. The reset waits until it has arrived, else the system may drop both. */
    const half: RequestHandler = (incoming, response) => {
      response.write("half");
      reset = () => resetConnection(incoming.socket);
    };

    test("plain", async () => {
      const listener = await listen({ host: "127.0.0.1", port: 0, handle: half });
      using socket = await openSocket(listener.url);
      socket.send("GET / HTTP/1.0\r\n\r\n");
      await until("half an answer", () => socket.received().includes("half"));
      reset();
      await until("the reset", () => socket.wasReset());
      await listener.close();
    });

    test("encrypted", async () => {
      await using serving = await serve(half);
      const socket = await secure(serving.port);
      const failed = new Promise<Error>((resolve) => socket.once("error", resolve));
      socket.once("end", () => socket.destroy(new Error("it ended in order")));
      socket.write("GET / HTTP/1.0\r\n\r\n");
      let received = "";
      socket.on("data", (chunk: Buffer) => {
        received += chunk.toString();
      });
      await until("half an answer", () => received.includes("half"));
      reset();
      expect(await failed).toMatchObject({ code: "ECONNRESET" });
    });

    test("one that has gone already", async () => {
      await using serving = await serve(half);
      const socket = await secure(serving.port);
      socket.write("GET / HTTP/1.0\r\n\r\n");
      await once(socket, "data");
      serving.listener.destroy();
      expect(reset).not.toThrow();
      expect(reset).not.toThrow();
    });
  });
});
