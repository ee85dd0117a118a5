import { createPrivateKey, X509Certificate } from "node:crypto";
import { chmodSync, copyFileSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type MadeCertificate, makeCertificate } from "../../test/certificates.ts";
import { type ProjectFolder, projectFolder } from "../../test/project-folder.ts";
import type { ServiceEvent } from "../events.ts";
import { type Certificate, CertificateError, openCertificate, type TlsFiles } from "./tls.ts";

const FIRST = makeCertificate({ name: "first" });
const SECOND = makeCertificate({ name: "second" });

const filesIn = (folder: ProjectFolder): TlsFiles => ({
  certFile: join(folder.path, "cert.pem"),
  keyFile: join(folder.path, "key.pem"),
});

function write({ certFile, keyFile }: TlsFiles, { cert, key }: { cert: string; key: string }): void {
  writeFileSync(certFile, cert);
  writeFileSync(keyFile, key);
}

function shown(certificate: Certificate): string {
  return new X509Certificate(String(certificate.options().cert)).subject;
}

describe("a pair that can be used", () => {
  const encoded = (made: MadeCertificate, type: "pkcs1" | "sec1"): string =>
    createPrivateKey(made.key).export({ type, format: "pem" }).toString();
  const rsa = makeCertificate({ name: "rsa", key: { type: "rsa", bits: 2048 } });
  const below = makeCertificate({ name: "below", issuer: FIRST });

  test.each<[string, { cert: string; key: string }]>([
    ["elliptic curves", FIRST],
    ["elliptic curves, SEC 1", { cert: FIRST.cert, key: encoded(FIRST, "sec1") }],
    ["RSA", rsa],
    ["RSA, PKCS 1", { cert: rsa.cert, key: encoded(rsa, "pkcs1") }],
    ["with its chain", { cert: below.cert + FIRST.cert, key: below.key }],
    ["with words around it", { cert: `Bag Attributes\n${FIRST.cert}\nend\n`, key: `# our key\n${FIRST.key}` }],
    ["both in both files, the key first", { cert: FIRST.key + FIRST.cert, key: FIRST.key + FIRST.cert }],
    ["both in both files, the certificate first", { cert: FIRST.cert + FIRST.key, key: FIRST.cert + FIRST.key }],
    ["lines as Windows ends them", { cert: crlf(FIRST.cert), key: crlf(FIRST.key) }],
  ])("%s", async (_, pair) => {
    using folder = projectFolder({ "cert.pem": pair.cert, "key.pem": pair.key });
    const certificate = await openCertificate(filesIn(folder), () => {});
    expect(certificate.options()).toEqual({
      cert: Buffer.from(pair.cert),
      key: Buffer.from(pair.key),
      minVersion: "TLSv1.2",
    });
  });
});

function crlf(text: string): string {
  return text.replaceAll("\n", "\r\n");
}

describe("a pair that cannot be used", () => {
  const small = makeCertificate({ name: "small", key: { type: "rsa", bits: 512 } });
  const encrypted = (type: "pkcs8" | "sec1"): string =>
    createPrivateKey(FIRST.key).export({ type, format: "pem", cipher: "aes-256-cbc", passphrase: "secret" }).toString();
  const broken = (pem: string): string => pem.replace(/\n[^\n-]{20}/, "\nAAAAAAAAAAAAAAAAAAAA");
  const publicKey = new X509Certificate(FIRST.cert).publicKey.export({ type: "spki", format: "pem" }).toString();
  const der = Buffer.from(FIRST.cert.replace(/-----.*-----|\s/g, ""), "base64");

  test.each<[string, Record<string, string | Uint8Array>, string | RegExp]>([
    ["no certificate", { "key.pem": FIRST.key }, "certificate file CERT cannot be read: no such file"],
    ["no key", { "cert.pem": FIRST.cert }, "key file KEY cannot be read: no such file"],
    ["a folder", { "cert.pem/x": "", "key.pem": FIRST.key }, "certificate file CERT cannot be read: it is a folder"],
    [
      "an empty certificate",
      { "cert.pem": "", "key.pem": FIRST.key },
      "certificate file CERT cannot be used: it holds no certificate in PEM form",
    ],
    [
      "a certificate in DER form",
      { "cert.pem": der, "key.pem": FIRST.key },
      "certificate file CERT cannot be used: it holds no certificate in PEM form",
    ],
    [
      "the files exchanged",
      { "cert.pem": FIRST.key, "key.pem": FIRST.cert },
      "certificate file CERT cannot be used: it holds no certificate in PEM form",
    ],
    [
      "a certificate cut short",
      { "cert.pem": FIRST.cert.slice(0, 200), "key.pem": FIRST.key },
      /^certificate file CERT cannot be used: .*(?:bad end line|no start line)/,
    ],
    [
      "a certificate with other bytes in it",
      { "cert.pem": broken(FIRST.cert), "key.pem": FIRST.key },
      /^certificate file CERT cannot be used: [a-z0-9 ]+$/,
    ],
    [
      "a chain that breaks off",
      { "cert.pem": FIRST.cert + SECOND.cert.slice(0, 200), "key.pem": FIRST.key },
      /^certificate file CERT cannot be used: [a-z0-9 ]+$/,
    ],
    [
      "an empty key",
      { "cert.pem": FIRST.cert, "key.pem": "" },
      "key file KEY cannot be used: it holds no private key in PEM form",
    ],
    [
      "a certificate for a key",
      { "cert.pem": FIRST.cert, "key.pem": FIRST.cert },
      "key file KEY cannot be used: it holds no private key in PEM form",
    ],
    [
      "a public key",
      { "cert.pem": FIRST.cert, "key.pem": publicKey },
      "key file KEY cannot be used: it holds no private key in PEM form",
    ],
    [
      "a key with other bytes in it",
      { "cert.pem": FIRST.cert, "key.pem": broken(FIRST.key) },
      /^key file KEY cannot be used: [A-Za-z0-9 ]+$/,
    ],
    [
      "a key with a passphrase",
      { "cert.pem": FIRST.cert, "key.pem": encrypted("pkcs8") },
      "key file KEY cannot be used: it is encrypted with a passphrase; write it without one",
    ],
    [
      "a key with a passphrase, in the old form",
      { "cert.pem": FIRST.cert, "key.pem": encrypted("sec1") },
      "key file KEY cannot be used: it is encrypted with a passphrase; write it without one",
    ],
    [
      "the key of another",
      { "cert.pem": FIRST.cert, "key.pem": SECOND.key },
      "key file KEY cannot be used: it is not the key of the certificate CERT",
    ],
    [
      "a key that is too small",
      { "cert.pem": small.cert, "key.pem": small.key },
      "certificate file CERT cannot be used: ee key too small",
    ],
  ])("%s", async (_, made, expected) => {
    using folder = projectFolder(made);
    const files = filesIn(folder);
    const failure = await openCertificate(files, () => {}).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(CertificateError);
    const { message } = failure as CertificateError;
    const told = message.replaceAll(files.certFile, "CERT").replaceAll(files.keyFile, "KEY");
    if (typeof expected === "string") expect(told).toBe(expected);
    else expect(told).toMatch(expected);
    // Neither file is quoted.
    for (const content of Object.values(made)) {
      for (const line of String(content).split("\n")) if (line.length > 20) expect(message).not.toContain(line);
    }
  });

  test("links in a circle", async () => {
    using folder = projectFolder({ "key.pem": FIRST.key });
    symlinkSync("cert.pem", join(folder.path, "cert.pem"));
    await expect(openCertificate(filesIn(folder), () => {})).rejects.toThrow("its symbolic links form a loop");
  });

  test("without permission", async () => {
    using folder = projectFolder({ "cert.pem": FIRST.cert, "key.pem": FIRST.key });
    chmodSync(folder.path, 0o755);
    chmodSync(join(folder.path, "key.pem"), 0);
    const opening = asNobody(() => openCertificate(filesIn(folder), () => {}));
    await expect(opening).rejects.toThrow(/^key file .* cannot be read: permission denied$/);
  });
});

/** The superuser may read everything. */
async function asNobody<T>(work: () => Promise<T>): Promise<T> {
  if (process.getuid?.() !== 0) return work();
  process.seteuid?.(65_534);
  try {
    return await work();
  } finally {
    process.seteuid?.(0);
  }
}

describe("a pair that changes", () => {
  interface Opened {
    readonly certificate: Certificate;
    readonly events: ServiceEvent[];
    readonly files: TlsFiles;
  }

  async function opened(folder: ProjectFolder, files = filesIn(folder)): Promise<Opened> {
    const events: ServiceEvent[] = [];
    return { certificate: await openCertificate(files, (event) => void events.push(event)), events, files };
  }

  test("is used as soon as it is read, once", async () => {
    using folder = projectFolder({ "cert.pem": FIRST.cert, "key.pem": FIRST.key });
    const { certificate, events, files } = await opened(folder);
    expect(await certificate.renew()).toBe(false);
    write(files, SECOND);
    expect(await certificate.renew()).toBe(true);
    expect(shown(certificate)).toBe("CN=second");
    expect(await certificate.renew()).toBe(false);
    expect(events).toEqual([]);
  });

  test("behind links, as certbot changes them", async () => {
    using folder = projectFolder({
      "archive/cert1.pem": FIRST.cert,
      "archive/key1.pem": FIRST.key,
      "archive/cert2.pem": SECOND.cert,
      "archive/key2.pem": SECOND.key,
    });
    const { certFile, keyFile } = filesIn(folder);
    symlinkSync("archive/cert1.pem", certFile);
    symlinkSync("archive/key1.pem", keyFile);
    const { certificate, events } = await opened(folder);
    rmSync(certFile);
    symlinkSync("archive/cert2.pem", certFile);
    // A look between the two is no reason for alarm.
    expect(await certificate.renew()).toBe(false);
    expect(shown(certificate)).toBe("CN=first");
    rmSync(keyFile);
    symlinkSync("archive/key2.pem", keyFile);
    expect(await certificate.renew()).toBe(true);
    expect([shown(certificate), events]).toEqual(["CN=second", []]);
  });

  test("behind a link to a folder, as Kubernetes changes it", async () => {
    using folder = projectFolder({
      "..1/cert.pem": FIRST.cert,
      "..1/key.pem": FIRST.key,
      "..2/cert.pem": SECOND.cert,
      "..2/key.pem": SECOND.key,
    });
    const { certFile, keyFile } = filesIn(folder);
    symlinkSync("..1", join(folder.path, "..data"));
    symlinkSync("..data/cert.pem", certFile);
    symlinkSync("..data/key.pem", keyFile);
    const { certificate, events } = await opened(folder);
    symlinkSync("..2", join(folder.path, "..data_tmp"));
    renameSync(join(folder.path, "..data_tmp"), join(folder.path, "..data"));
    rmSync(join(folder.path, "..1"), { recursive: true });
    expect(await certificate.renew()).toBe(true);
    expect([shown(certificate), events]).toEqual(["CN=second", []]);
  });

  test.each<[string, (files: TlsFiles) => void, string]>([
    ["gone", ({ certFile }) => rmSync(certFile), "certificate file CERT cannot be read: no such file"],
    [
      "a folder",
      ({ keyFile }) => {
        rmSync(keyFile);
        mkdirSync(keyFile);
      },
      "key file KEY cannot be read: it is a folder",
    ],
    [
      "no pair",
      ({ certFile }) => writeFileSync(certFile, SECOND.cert),
      "key file KEY cannot be used: it is not the key of the certificate CERT",
    ],
    [
      "nonsense",
      ({ certFile }) => writeFileSync(certFile, "nonsense"),
      "certificate file CERT cannot be used: it holds no certificate in PEM form",
    ],
  ])("into what is %s: the old one stays, and each change is told once", async (_, spoil, reason) => {
    using folder = projectFolder({ "cert.pem": FIRST.cert, "key.pem": FIRST.key });
    const { certificate, events, files } = await opened(folder);
    const dependency = `certificate ${files.certFile}`;
    const why = reason.replaceAll("CERT", files.certFile).replaceAll("KEY", files.keyFile);
    const down = {
      kind: "dependency-down",
      dependency,
      message: `${why}; the certificate that was read before stays in use`,
    };
    for (const round of [1, 2]) {
      spoil(files);
      const before = events.length;
      for (const look of [1, 2, 3, 4]) {
        expect([round, look, await certificate.renew()]).toEqual([round, look, false]);
        expect(events.slice(before)).toEqual(look === 1 ? [] : [down]);
      }
      expect(shown(certificate)).toBe("CN=first");
      rmSync(files.keyFile, { recursive: true, force: true });
      write(files, FIRST);
      expect(await certificate.renew()).toBe(false);
      expect(await certificate.renew()).toBe(false);
      expect(events.slice(before)).toEqual([down, { kind: "dependency-up", dependency }]);
    }
    write(files, SECOND);
    expect([await certificate.renew(), shown(certificate)]).toEqual([true, "CN=second"]);
  });

  test("a new one after a bad one", async () => {
    using folder = projectFolder({ "cert.pem": FIRST.cert, "key.pem": FIRST.key, "second.pem": SECOND.cert });
    const { certificate, events, files } = await opened(folder);
    copyFileSync(join(folder.path, "second.pem"), files.certFile);
    await certificate.renew();
    await certificate.renew();
    writeFileSync(files.keyFile, SECOND.key);
    expect([await certificate.renew(), shown(certificate)]).toEqual([true, "CN=second"]);
    expect(events.map(({ kind }) => kind)).toEqual(["dependency-down", "dependency-up"]);
  });
});
