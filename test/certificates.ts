import { createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";

/** A certificate and its key, both as PEM. Created with Node only, so that no test needs `openssl`. */
export interface MadeCertificate {
  readonly cert: string;
  readonly key: string;
  /** The common name, by which a test recognises the certificate. */
  readonly name: string;
}

export interface CertificateOptions {
  /** The common name. Every certificate is also valid for localhost and 127.0.0.1. */
  readonly name: string;
  /** Further hosts for which it is valid. */
  readonly hosts?: readonly string[];
  /** The certificate that signs this one. If undefined, it is self-signed. */
  readonly issuer?: MadeCertificate;
  readonly key?: { readonly type: "ec" } | { readonly type: "rsa"; readonly bits: number };
}

const CONSTRUCTED = { sequence: 0x30, set: 0x31 } as const;
const YEAR_MS = 365 * 24 * 60 * 60 * 1000;

/** Creates an X.509 certificate of version 3 that is valid for a year, starting yesterday. */
export function makeCertificate({
  name,
  hosts = [],
  issuer,
  key = { type: "ec" },
}: CertificateOptions): MadeCertificate {
  const { publicKey, privateKey } =
    key.type === "ec"
      ? generateKeyPairSync("ec", { namedCurve: "P-256" })
      : generateKeyPairSync("rsa", { modulusLength: key.bits });
  const signer = issuer === undefined ? privateKey : createPrivateKey(issuer.key);
  const start = Date.now() - 24 * 60 * 60 * 1000;
  const body = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    // The highest bit of the serial number is 0, so that the number is positive.
    der(0x02, Buffer.concat([Buffer.of(0x40), randomBytes(8)])),
    algorithmOf(signer),
    nameOf(issuer?.name ?? name),
    sequence(timeOf(start), timeOf(start + YEAR_MS)),
    nameOf(name),
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(basicConstraints(), alternativeNames(hosts))),
  );
  const signature = der(0x03, Buffer.concat([Buffer.of(0), sign("sha256", body, signer)]));
  return {
    name,
    cert: pem("CERTIFICATE", sequence(body, algorithmOf(signer), signature)),
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...size), content]);
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(CONSTRUCTED.sequence, Buffer.concat(parts));
}

/** An object identifier, from its bytes in hexadecimal. */
function identifier(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, "hex"));
}

/** ecdsa-with-SHA256 or sha256WithRSAEncryption, whose parameters are NULL. */
function algorithmOf({ asymmetricKeyType }: KeyObject): Buffer {
  return asymmetricKeyType === "ec"
    ? sequence(identifier("2a8648ce3d040302"))
    : sequence(identifier("2a864886f70d01010b"), der(0x05, Buffer.alloc(0)));
}

function nameOf(text: string): Buffer {
  return sequence(der(CONSTRUCTED.set, sequence(identifier("550403"), der(0x0c, Buffer.from(text)))));
}

function timeOf(ms: number): Buffer {
  return der(0x18, Buffer.from(`${new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, "")}`));
}

/** Basic constraints: the certificate may sign others. */
function basicConstraints(): Buffer {
  const isAuthority = sequence(der(0x01, Buffer.of(0xff)));
  return sequence(identifier("551d13"), der(0x01, Buffer.of(0xff)), der(0x04, isAuthority));
}

/** Alternative names: localhost, 127.0.0.1 and these hosts. */
function alternativeNames(hosts: readonly string[]): Buffer {
  const hostNames = ["localhost", ...hosts].map((host) => der(0x82, Buffer.from(host)));
  const names = sequence(...hostNames, der(0x87, Buffer.of(127, 0, 0, 1)));
  return sequence(identifier("551d11"), der(0x04, names));
}

function pem(label: string, bytes: Buffer): string {
  const lines = bytes.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}
