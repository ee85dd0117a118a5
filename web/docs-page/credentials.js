import { el } from "./dom.js";

/** User names, passwords and tokens, by scheme. Only this closure holds them: no storage, no URL, no code sample. */
export function openCredentials() {
  const kept = new Map();
  const entry = (scheme) => {
    if (!kept.has(scheme)) kept.set(scheme, { user: "", password: "", token: "" });
    return kept.get(scheme);
  };

  /** The first scheme of an operation that is filled in. */
  function chosen(operation, schemes) {
    const offered = schemesOf(operation, schemes);
    return offered.find(({ name, kind }) => {
      const { user, token } = entry(name);
      return kind === "basic" ? user !== "" : token !== "";
    });
  }

  return {
    entry,
    chosen,
    /** Reuses the credentials for the document where an endpoint takes the same kind. */
    prefill(schemes, reader) {
      for (const { name, kind } of schemes.values()) if (kind === reader.kind) Object.assign(entry(name), reader.entry);
    },
    /** The header that an operation is sent with; undefined when there is none to send. */
    headerFor(operation, schemes) {
      const scheme = chosen(operation, schemes);
      return scheme && authorization(scheme.kind, entry(scheme.name));
    },
  };
}

export function authorization(kind, { user, password, token }) {
  if (kind !== "basic") return `Bearer ${token}`;
  // UTF-8, as the service reads it; `btoa` takes bytes only.
  const bytes = new TextEncoder().encode(`${user}:${password}`);
  return `Basic ${btoa(String.fromCharCode(...bytes))}`;
}

/** The schemes that an operation takes, each once. */
export function schemesOf(operation, schemes) {
  const names = new Set(operation.security.flat());
  return [...names].map((name) => schemes.get(name)).filter((scheme) => scheme !== undefined);
}

/** Whether an operation cannot be called without credentials. */
export function needsSignIn(operation) {
  return operation.security.length > 0 && operation.security.every((names) => names.length > 0);
}

/** The inputs of one scheme, bound to `entry`. */
export function credentialInputs({ name, kind }, entry, changed) {
  const input = (key, label, type) => {
    const field = el("input", {
      id: `auth:${encodeURIComponent(name)}:${key}`,
      type,
      autocomplete: "off",
      autocapitalize: "off",
      spellcheck: "false",
      on: {
        input: () => {
          entry[key] = field.value;
          changed();
        },
      },
    });
    field.value = entry[key];
    return el("div", { class: "credential" }, el("label", { for: field.id }, label), field);
  };
  return kind === "basic"
    ? [input("user", "User", "text"), input("password", "Password", "password")]
    : [input("token", "Token", "password")];
}
