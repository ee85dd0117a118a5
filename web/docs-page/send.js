/** Larger responses are cut, to keep the page responsive. Downloads are never cut. */
const MAX_BYTES = 16 * 1024 * 1024;

const TEXTUAL = /^(text\/|application\/(json|problem\+json|x-ndjson|ndjson|jsonl|yaml|xml))/i;

/**
 * Sends a request to the service of this page, and to no other. Uses neither cookies nor caches, which could change the response,
 * nor the browser's own password dialog.
 */
export async function send(request, signal) {
  const startedAt = performance.now();
  const response = await fetchSameOrigin(request, signal);
  const { bytes, isCut } = await readBytes(response);
  const contentType = response.headers.get("content-type") ?? "";
  return {
    request,
    status: response.status,
    statusText: response.statusText,
    milliseconds: performance.now() - startedAt,
    headers: [...response.headers],
    contentType,
    bytes,
    isCut,
    text: contentType === "" || TEXTUAL.test(contentType) ? new TextDecoder().decode(bytes) : undefined,
  };
}

function fetchSameOrigin({ method, url, headers, body }, signal) {
  if (new URL(url).origin !== location.origin) throw new Error("This URL belongs to another service");
  return fetch(url, { method, headers, body, signal, cache: "no-store", credentials: "omit", redirect: "follow" });
}

async function readBytes(response) {
  const chunks = [];
  let size = 0;
  const reader = response.body?.getReader();
  for (let part = await reader?.read(); part !== undefined && !part.done; part = await reader.read()) {
    chunks.push(part.value);
    size += part.value.length;
    if (size > MAX_BYTES) {
      await reader.cancel();
      return { bytes: concatenate(chunks, size), isCut: true };
    }
  }
  return { bytes: concatenate(chunks, size), isCut: false };
}

function concatenate(chunks, size) {
  const all = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}

/** The same request in another format. */
export function withFormat(request, format) {
  const url = new URL(request.url);
  // `searchParams.set` would re-encode the other values, with a plus instead of a space.
  const others = url.search
    .slice(1)
    .split("&")
    .filter((part) => part !== "" && part.split("=")[0].toLowerCase() !== "format");
  url.search = `?${[...others, `format=${format}`].join("&")}`;
  return { ...request, url: url.href };
}

/** Sends a request, and saves the response as a file. */
export async function download(request, fileName) {
  const response = await fetchSameOrigin(request);
  if (!response.ok) throw new Error(`${response.status} ${await messageOf(response)}`);
  saveBlob(await response.blob(), fileName);
}

async function messageOf(response) {
  const text = await response.text();
  return text.length > 300 ? `${text.slice(0, 300)} …` : text;
}

export function saveBlob(blob, fileName) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = fileName;
  link.click();
  // By then, the browser has started to save the file.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** A file name, from the path of a request. */
export function fileNameOf(request, extension) {
  const name = pathOf(request)
    .replace(/[^\p{L}\p{N}._-]+/gu, "-")
    .replace(/^[-.]+|[-.]+$/g, "");
  return `${name || "rows"}.${extension}`;
}

function pathOf({ url }) {
  try {
    return decodeURIComponent(new URL(url).pathname);
  } catch {
    return "";
  }
}

/** The request for the `next` link of a response. Undefined if the link leads to another service. */
export function nextRequestOf(request, next, root) {
  if (typeof next !== "string" || !/^\/(?![/\\])/.test(next)) return undefined;
  const url = new URL(root.href.replace(/\/$/, "") + next);
  return url.origin === root.origin ? { ...request, url: url.href } : undefined;
}
