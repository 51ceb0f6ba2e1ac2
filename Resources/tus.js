// Resumable uploads by the tus protocol, version 1.0, and the records that find them again after a reload.

import { apiAddress, ApiError, memory, parentOf, request } from "./app.js";
import { send } from "./send.js";

const version = { "Tus-Resumable": "1.0.0" };
const pieceSize = 64 << 20;

/** Handles of files, kept by browsers that have them, in a small database; elsewhere nothing. */
function handles(mode, work) {
  return new Promise((resolve) => {
    const opening = indexedDB.open("shareserve", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("handles");
    opening.onerror = () => resolve(null);
    opening.onsuccess = () => {
      try {
        const asked = work(opening.result.transaction("handles", mode).objectStore("handles"));
        asked.onsuccess = () => resolve(asked.result);
        asked.onerror = () => resolve(null);
      } catch {
        resolve(null);
      }
    };
  });
}

/** Uploads under way, by what makes a file the same file: its name, size, time and target. */
export const records = {
  keyOf: (item) => JSON.stringify([item.name, item.size, item.file?.lastModified ?? item.mtime, item.target, item.folder]),
  get: (item) => memory.get("uploads", {})[item.key ??= records.keyOf(item)],
  async put(item, url) {
    item.key ??= records.keyOf(item);
    write((all) => {
      all[item.key] = { url, key: item.key, name: item.name, size: item.size, mtime: item.file.lastModified, target: item.target,
        folder: item.folder, href: item.href, at: Date.now() };
    });
    const handle = await item.handle;
    if (handle) await handles("readwrite", (store) => store.put(handle, item.key));
  },
  remove(item) {
    if (!records.get(item)) return;
    write((all) => { delete all[item.key]; });
    handles("readwrite", (store) => store.delete(item.key));
  },
  /** The page goes away: its records are free for the next one. */
  letGo(items) {
    write((all) => { for (const item of items) if (all[item.key]) all[item.key].at = 0; });
  },
  stillMine(item) {
    write((all) => { if (all[item.key]) all[item.key].at = Date.now(); });
  },
  /** Those that the server still knows and no other tab is at work on. */
  async unfinished() {
    const found = [];
    for (const record of Object.values(memory.get("uploads", {}))) {
      if (Date.now() - record.at < 15_000) continue;
      try {
        record.offset = await offsetOf(record.url);
        record.handle = await handles("readonly", (store) => store.get(record.key));
        found.push(record);
      } catch (error) {
        if (error.status === 404 || error.status === 410) records.remove(record);
      }
    }
    return found;
  },
};

function write(change) {
  const all = memory.get("uploads", {});
  change(all);
  memory.set("uploads", all);
  memory.set("unfinished", Object.keys(all).length);
}

async function offsetOf(url, signal) {
  const answer = await request("HEAD", url, { headers: version, signal });
  return Number(answer.headers.get("Upload-Offset"));
}

const base64 = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
/** The bytes of a percent-encoded name, whatever they are. */
const bytesOf = (encoded) => Uint8Array.from(encoded.replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(parseInt(hex, 16))), (c) => c.charCodeAt(0));

async function create(item) {
  const folder = parentOf(item.href);
  const metadata = {
    path: base64(bytesOf(folder)), filename: base64(bytesOf(item.href.slice(folder.length))),
    filetype: btoa(item.file.type.replace(/[^\x20-\x7e]/g, "") || "application/octet-stream"), mtime: btoa(String(item.file.lastModified)),
    conflict: btoa(item.conflict === "replace" ? "replace" : "fail"),
  };
  const answer = await request("POST", apiAddress("uploads"), { signal: item.abort.signal, headers: {
    ...version, "Upload-Length": String(item.size),
    "Upload-Metadata": Object.entries(metadata).map((pair) => pair.join(" ")).join(","),
  } });
  const { pathname } = new URL(answer.headers.get("Location"), location.href);
  await records.put(item, pathname);
  return pathname;
}

/** Sends a file, from where an earlier attempt came to. Resolves to the last answer. */
export async function sendResumable(item, report) {
  const { signal } = item.abort;
  let url = records.get(item)?.url, offset = 0;
  if (url) {
    try {
      offset = await offsetOf(url, signal);
      item.resumedAt = offset;
    } catch (error) {
      if (error.status !== 404 && error.status !== 410) throw error;
      records.remove(item);
      url = null;
    }
  }
  url ??= await create(item);
  report(offset);
  for (;;) {
    const end = Math.min(item.size, offset + pieceSize);
    const from = offset;
    let touched = Date.now();
    const answer = await send("PATCH", url, {
      headers: { ...version, "Upload-Offset": String(offset), "Content-Type": "application/offset+octet-stream",
        ...(end === item.size && { "Want-Repr-Digest": "sha-256=10" }) },
      body: item.file.slice(offset, end), signal,
      report: (sent) => {
        report(from + Math.min(sent, end - from));
        if (Date.now() - touched > 5000) {
          touched = Date.now();
          records.stillMine(item);
        }
      },
    }).catch((error) => {
      // An offset that does not fit is no conflict of names: ask again where we are.
      throw error.status === 409 ? new ApiError(0, error.message) : error;
    });
    offset = Number(answer.header("Upload-Offset") ?? end);
    report(offset);
    if (offset >= item.size) return answer;
  }
}
