import { el } from "./dom.js";

/** User names, passwords and tokens, by scheme. They never get into storage, URLs or code samples. */
export function openCredentials() {
  const entries = new Map();
  const entry = (scheme) => {
    if (!entries.has(scheme)) entries.set(scheme, { user: "", password: "", token: "" });
    return entries.get(scheme);
  };

  /** The first scheme of an operation for which the user has entered credentials. */
  function findScheme(operation, schemes) {
    const offered = schemesOf(operation, schemes);
    return offered.find(({ name, kind }) => {
      const { user, token } = entry(name);
      return kind === "basic" ? user !== "" : token !== "";
    });
  }

  return {
    entry,
    findScheme,
    /** Copies the credentials for the document to all schemes of the same kind. */
    prefill(schemes, documentCredentials) {
      for (const { name, kind } of schemes.values())
        if (kind === documentCredentials.kind) Object.assign(entry(name), documentCredentials.entry);
    },
    /** The `Authorization` header for an operation. Undefined without credentials. */
    headerFor(operation, schemes) {
      const scheme = findScheme(operation, schemes);
      return scheme && authorization(scheme.kind, entry(scheme.name));
    },
  };
}

export function authorization(kind, { user, password, token }) {
  if (kind !== "basic") return `Bearer ${token}`;
  // Encoded as UTF-8, because `btoa` accepts only bytes.
  const bytes = new TextEncoder().encode(`${user}:${password}`);
  return `Basic ${btoa(String.fromCharCode(...bytes))}`;
}

/** The schemes that an operation accepts, without duplicates. */
export function schemesOf(operation, schemes) {
  const names = new Set(operation.security.flat());
  return [...names].map((name) => schemes.get(name)).filter((scheme) => scheme !== undefined);
}

/** Whether an operation requires credentials. */
export function needsSignIn(operation) {
  return operation.security.length > 0 && operation.security.every((names) => names.length > 0);
}

/** The inputs of one scheme, bound to `entry`. */
export function credentialInputs({ name, kind }, entry, onChange) {
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
          onChange();
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
