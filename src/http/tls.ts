import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createSecureContext, type SecureContextOptions } from "node:tls";
import { errorCode } from "../error-message.ts";
import type { Report } from "../events.ts";

/** The absolute paths of the certificate, with its chain, and its key. Both are PEM files. */
export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** A certificate or its key cannot be used. The message quotes nothing from the files. */
export class CertificateError extends Error {
  override readonly name = "CertificateError";
}

/** The last valid certificate of a server. */
export interface Certificate {
  /** The TLS options of the server. */
  readonly options: () => SecureContextOptions;
  /** Reads the files again, and returns whether they changed. Also detects changed symbolic links. Never rejects. */
  renew(): Promise<boolean>;
}

/** The contents of the two files. */
interface KeyPair {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** During a renewal, only one of the files may be new. So a single failed check is not reported. */
const CHECKS_BEFORE_REPORT = 2;

/** Rejects with a CertificateError. Problems with later certificates are reported. */
export async function openCertificate(files: TlsFiles, report: Report): Promise<Certificate> {
  const dependency = `certificate ${files.certFile}`;
  let current = await readFiles(files);
  checkPair(current, files);
  let failedChecks = 0;

  async function renew(): Promise<boolean> {
    try {
      const found = await readFiles(files);
      const isNew = !found.cert.equals(current.cert) || !found.key.equals(current.key);
      if (isNew) checkPair(found, files);
      current = found;
      if (failedChecks >= CHECKS_BEFORE_REPORT) report({ kind: "dependency-up", dependency });
      failedChecks = 0;
      return isNew;
    } catch (error) {
      failedChecks++;
      if (failedChecks === CHECKS_BEFORE_REPORT) {
        const message = `${reasonOf(error)}; the certificate that was read before stays in use`;
        report({ kind: "dependency-down", dependency, message });
      }
      return false;
    }
  }

  return { options: () => secureOptions(current), renew };
}

function secureOptions({ cert, key }: KeyPair): SecureContextOptions {
  return { cert, key, minVersion: "TLSv1.2" };
}

async function readFiles({ certFile, keyFile }: TlsFiles): Promise<KeyPair> {
  const [cert, key] = await Promise.all([
    readOne(certFile, `certificate file ${certFile}`),
    readOne(keyFile, `key file ${keyFile}`),
  ]);
  return { cert, key };
}

const UNREADABLE: Readonly<Record<string, string>> = {
  ENOENT: "no such file",
  ENOTDIR: "no such file",
  EACCES: "permission denied",
  EPERM: "permission denied",
  EISDIR: "it is a folder",
  ELOOP: "its symbolic links form a loop",
};

async function readOne(file: string, what: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    const code = codeOf(error);
    throw new CertificateError(`${what} cannot be read: ${UNREADABLE[code] ?? code}`);
  }
}

const CERTIFICATE = /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----/;
const PRIVATE_KEY = /-----BEGIN [A-Z ]*PRIVATE KEY-----/;
const ENCRYPTED = /-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m;

/** Throws a CertificateError if a server cannot use the pair. */
function checkPair(pair: KeyPair, { certFile, keyFile }: TlsFiles): void {
  const certificate = attempt(`certificate file ${certFile}`, () => {
    if (!CERTIFICATE.test(pair.cert.toString("latin1"))) {
      throw new CertificateError("it holds no certificate in PEM form");
    }
    return new X509Certificate(pair.cert);
  });
  const key = attempt(`key file ${keyFile}`, () => {
    const text = pair.key.toString("latin1");
    if (!PRIVATE_KEY.test(text)) throw new CertificateError("it holds no private key in PEM form");
    if (ENCRYPTED.test(text)) throw new CertificateError("it is encrypted with a passphrase; write it without one");
    return createPrivateKey(pair.key);
  });
  if (!certificate.checkPrivateKey(key)) {
    throw new CertificateError(`key file ${keyFile} cannot be used: it is not the key of the certificate ${certFile}`);
  }
  attempt(`certificate file ${certFile}`, () => createSecureContext(secureOptions(pair)));
}

function attempt<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new CertificateError(`${what} cannot be used: ${reasonOf(error)}`);
  }
}

/** OpenSSL's reasons never quote their input. */
function reasonOf(error: unknown): string {
  if (error instanceof CertificateError) return error.message;
  if (error instanceof Error && "reason" in error) return String(error.reason);
  return codeOf(error);
}

function codeOf(error: unknown): string {
  return errorCode(error) ?? "unknown error";
}
