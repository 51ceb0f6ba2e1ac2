// Part of app.js: talking to the server. Folders and files are named by `href`: the percent-encoded path below `base`.

/** An answer that says no. `status` 0: no answer came. The message is for people. */
export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export const encodeName = (name) => encodeURIComponent(name.toWellFormed?.() ?? name);

export function decodeName(encoded) {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return unescape(encoded);
  }
}

/** `/a%20b/c` → `/a b/c`, for the parts of the interface that name paths in JSON. */
export const pathOf = (href) => href.split("/").map(decodeName).join("/");
export const hrefOf = (path) => path.split("/").map(encodeName).join("/");
export const parentOf = (href) => href.replace(/[^/]+\/?$/, "") || "/";
export const nameOf = (href) => decodeName(href.replace(/\/$/, "").split("/").at(-1));
export const address = (href) => base + href;
export const apiAddress = (rest) => base + "/.shareserve/" + rest;
export const destination = (href) => location.origin + base + href;

export function messageFor(status, text) {
  const words = (text ?? "").trim();
  if (words && words.length < 400 && !words.startsWith("<")) return words;
  const known = { 0: "The server does not answer. Check your connection.", 401: "Log in to do this.", 403: "You may not do this here.", 404: "It is not there any more.", 409: "The folder is not there any more.",
    412: "It was changed or is taken.", 413: "The file is too large for this server.", 423: "Somebody has locked it.", 429: "Too many attempts: wait a moment.", 507: "The server's disk is full." };
  return known[status] ? t(known[status]) : t("The server answered {status}.", { status: String(status) });
}

/** One request; throws an ApiError for every answer of 400 and above. */
export async function request(method, target, { headers, body, signal, json } = {}) {
  let answer;
  try {
    answer = await fetch(target, {
      method, signal, credentials: "same-origin", cache: method === "GET" ? "no-cache" : "no-store",
      headers: json ? { "Content-Type": "application/json", ...headers } : headers,
      body: json ? JSON.stringify(json) : body,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, messageFor(0));
  }
  if (answer.ok) return answer;
  const plain = (answer.headers.get("Content-Type") ?? "").startsWith("text/plain");
  throw new ApiError(answer.status, messageFor(answer.status, plain ? await answer.text() : ""));
}

/** The bytes of a streamed answer as lines, as they come. */
async function* linesOf(answer) {
  const reader = answer.body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    const text = rest + (done ? decoder.decode() : decoder.decode(value, { stream: true }));
    const lines = text.split("\n");
    rest = done ? "" : lines.pop();
    yield lines;
    if (done) return;
  }
}

/**
 * Reads a listing or a search line by line: `onHead` gets what stands before the entries, `onEntries` each batch.
 * An answer that ends before its closing line was cut: that is an error, not a short folder.
 */
export async function readEntries(target, { onHead, onEntries, signal }) {
  const answer = await request("GET", target, { headers: { Accept: "application/json" }, signal });
  let head = false, whole = false;
  for await (const lines of linesOf(answer)) {
    const batch = [];
    for (const line of lines) {
      const text = line.trim();
      if (!text) continue;
      if (!head) {
        head = true;
        whole = /\]\s*\}$/.test(text);
        const first = JSON.parse(whole ? text : text + "]}");
        onHead?.(first);
        batch.push(...first.entries);
      } else if (text.startsWith("]")) {
        whole = true;
      } else {
        batch.push(JSON.parse(text.endsWith(",") ? text.slice(0, -1) : text));
      }
    }
    if (batch.length) onEntries(batch);
  }
  if (!whole) throw new ApiError(0, t("The answer ended early: try again."));
}

/** MOVE or COPY. Throws 412 when the name is taken and `overwrite` is false. */
export function transferEntry(method, from, to, overwrite = false) {
  return request(method, address(from), {
    headers: { Destination: destination(to), Overwrite: overwrite ? "T" : "F", Depth: "infinity" },
  });
}

export const makeFolder = (href) => request("MKCOL", address(href));
export const removeEntry = (href) => request("DELETE", address(href));

/** The SHA-256 that the server computes of a file, base64, or null. */
export async function remoteDigest(href, signal) {
  const answer = await request("HEAD", address(href), { headers: { "Want-Repr-Digest": "sha-256=10" }, signal });
  return digestIn(answer.headers.get("Repr-Digest"));
}

export const digestIn = (field) => /sha-256=:([^:]+):/.exec(field ?? "")?.[1] ?? null;

/** `name (2).txt` for `name.txt`: the n-th name beside a taken one. */
export function numbered(name, n, isFolder) {
  const end = stemLength(name, isFolder);
  return `${name.slice(0, end)} (${n})${name.slice(end)}`;
}
