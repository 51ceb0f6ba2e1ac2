// The transfer engine: a queue of uploads that go on after lost connections, restarts and reloads, and its panel.

import { app, apiAddress, address, ApiError, button, digestIn, encodeName, fail, formatNumber, formatSize, formatUntil, h, info,
  makeFolder, memory, messageFor, nameOf, parentOf, pathOf, readFolder, remoteDigest, request, shown, t, toast, touch } from "./app.js";
import { askConflict } from "./conflict.js";
import { records, sendResumable } from "./tus.js";
import { send } from "./send.js";

export { fromClipboard, fromDrop, fromPicker } from "./gather.js";

const parallel = 3;
/** From this size on an upload is worth a record of how far it came. */
const resumableFrom = 1 << 20;
const items = [];
const folders = new Map();
let running = 0;

const active = (item) => ["waiting", "sending", "retrying", "asking"].includes(item.state);
const over = (item) => ["done", "skipped", "failed"].includes(item.state);

/** SHA-256 in a worker: pages from plain http have no crypto.subtle, and no browser hashes a stream. */
const digests = new Map();
let worker = null;
function digestOf(file) {
  worker ??= Object.assign(new Worker(new URL("hash.js", import.meta.url)), {
    onmessage: ({ data }) => {
      const { resolve, reject } = digests.get(data.id);
      digests.delete(data.id);
      if (data.digest) resolve(data.digest);
      else reject(new Error(t("The file can't be read any more: choose it again.")));
    },
  });
  return new Promise((resolve, reject) => {
    const id = Math.random();
    digests.set(id, { resolve, reject });
    worker.postMessage({ id, file });
  });
}

/** Queues what `source` yields, `{ file, path, handle }` or `{ folder }`, below the folder at `target`. */
export async function upload(source, target) {
  const batch = { policy: null, several: false };
  try {
    for await (const one of source) {
      if (one.folder !== undefined) {
        await ensureFolder(target, one.folder);
        continue;
      }
      const steps = one.path.split("/");
      const name = steps.pop();
      batch.several ||= batch.started === true;
      batch.started = true;
      add({ file: one.file, name, size: one.file.size, target, folder: steps, batch, handle: one.handle });
    }
  } catch (error) {
    fail(error);
  }
}

function add(item) {
  // The same file chosen again takes the place of the line that waited for it.
  const waiting = items.findIndex((other) => other.state === "missing" && other.key === records.keyOf(item));
  if (waiting >= 0) items.splice(waiting, 1)[0].row?.remove();
  items.push(Object.assign(item, { state: "waiting", sent: 0, tries: 0, href: null, samples: [] }));
  pump();
  drawSoon();
}

const hrefOfFolder = (target, steps) => target + steps.map((step) => encodeName(step) + "/").join("");

/** Makes the folders on the way, each once. */
function ensureFolder(target, path) {
  const steps = typeof path === "string" ? path.split("/").filter(Boolean) : path;
  if (!steps.length) return Promise.resolve();
  const href = hrefOfFolder(target, steps);
  if (!folders.has(href)) {
    folders.set(href, ensureFolder(target, steps.slice(0, -1)).then(async () => {
      try {
        await makeFolder(href);
        contents.set(href, Promise.resolve(null));
        if (steps.length === 1 && target === app.href) touch(steps[0]);
      } catch (error) {
        if (error.status !== 405) {
          folders.delete(href);
          throw error;
        }
      }
    }));
  }
  return folders.get(href);
}

/** What lies in a target folder, read once for a run of the queue; null where it is new or may not be seen. */
const contents = new Map();
function contentsOf(href) {
  if (!contents.has(href)) contents.set(href, readFolder(href).catch(() => null));
  return contents.get(href);
}

function pump() {
  keepAwake(items.some(active));
  while (running < parallel) {
    const next = items.find((item) => item.state === "waiting");
    if (!next) break;
    running += 1;
    next.state = "sending";
    start(next).finally(() => {
      running -= 1;
      pump();
    });
  }
  if (!items.some(active)) {
    folders.clear();
    contents.clear();
  }
  drawSoon();
}

async function start(item) {
  item.abort = new AbortController();
  item.samples = [];
  try {
    const href = hrefOfFolder(item.target, item.folder);
    await ensureFolder(item.target, item.folder);
    item.href ??= href + encodeName(item.name);
    item.local ??= item.size < 64 << 20 || item.size >= resumableFrom ? lazily(() => digestOf(item.file)) : null;
    if (!item.conflict && !records.get(item) && !await settle(item, await contentsOf(href))) return;
    const answer = await deliver(item);
    item.sent = item.size;
    records.remove(item);
    (await contentsOf(href))?.add([{ name: nameOf(item.href), type: "file", size: item.size, modified: item.file.lastModified }]);
    if (item.target === app.href) touch(item.folder[0] ?? nameOf(item.href));
    item.state = "verifying";
    verify(item, answer);
  } catch (error) {
    if (item.abort.signal.aborted) return;
    if (error.status === 412 || error.status === 409) {
      // Somebody else took the name meanwhile.
      contents.delete(parentOf(item.href));
      item.conflict = null;
      item.batch.policy = null;
      if (item.tries++ < 3) item.state = "waiting";
      else finish(item, "failed", error.message);
    } else if (error.status === 0 || error.status >= 500 && error.status !== 507 || error.status === 423 || error.status === 429) {
      backOff(item, error);
    } else {
      finish(item, "failed", error.message);
    }
  }
}

function lazily(make) {
  let made = null;
  return () => (made ??= make());
}

/** PUT for what is small, resumable for the rest. */
async function deliver(item) {
  const report = (sent) => {
    if (sent > item.sent) item.tries = 0;
    item.sent = sent;
    drawSoon();
  };
  if (item.size >= resumableFrom && info.uploads !== false && item.resumable !== false) {
    item.local()?.catch(() => {});
    try {
      return await sendResumable(item, report);
    } catch (error) {
      if (![404, 405, 501].includes(error.status) || item.sent) throw error;
      item.resumable = false;
    }
  }
  return send("PUT", address(item.href), {
    headers: {
      "Content-Type": item.file.type || "application/octet-stream", "X-OC-Mtime": String(item.file.lastModified / 1000),
      "Want-Repr-Digest": "sha-256=10", ...(item.conflict !== "replace" && { "If-None-Match": "*" }),
    }, body: item.file, report, signal: item.abort.signal,
  });
}

let asking = Promise.resolve();

/** Decides about a name that is taken; false: nothing is sent. */
async function settle(item, listing) {
  const theirs = listing?.get(item.name);
  if (!theirs) return true;
  if (!theirs.isFolder && theirs.size === item.size && item.local) {
    const [here, there] = await Promise.all([item.local(), remoteDigest(theirs.href, item.abort.signal).catch(() => null)]);
    if (here === there) {
      finish(item, "skipped", t("identical, already there"));
      return false;
    }
  }
  if (!item.batch.policy) {
    item.state = "asking";
    drawSoon();
    const turn = asking.then(() => item.batch.policy ?? (item.abort.signal.aborted ? null : askConflict({
      ours: { name: item.name, size: item.size, modified: item.file.lastModified, file: item.file }, theirs,
      folder: parentOf(theirs.href), several: item.batch.several })));
    asking = turn.catch(() => {});
    const answer = await turn;
    if (item.abort.signal.aborted) return false;
    if (answer.all) item.batch.policy = answer;
    item.state = "sending";
    item.answer = answer;
  }
  const { choice } = item.batch.policy ?? item.answer;
  if (choice === "skip") {
    finish(item, "skipped", t("skipped"));
    return false;
  }
  if (choice === "keep" || theirs.isFolder) {
    const name = listing.freeName(item.name, false);
    listing.add([{ name, type: "file" }]);
    item.href = parentOf(theirs.href) + encodeName(name);
  }
  item.conflict = choice === "keep" ? "fail" : "replace";
  return true;
}

/** The bytes that arrived are compared with the bytes that were sent. */
async function verify(item, answer) {
  try {
    const there = digestIn(answer.header("Repr-Digest")) ?? await remoteDigest(item.href).catch(() => null);
    if (!there || !item.local) return finish(item, "done", t("uploaded"));
    const here = await item.local();
    if (here !== there) {
      item.conflict = "replace";
      return finish(item, "failed", t("arrived damaged: try again"));
    }
    return finish(item, "done", t("uploaded and verified ✓"));
  } catch (error) {
    return finish(item, "failed", error.message);
  }
}

function finish(item, state, message) {
  item.state = state;
  item.message = message;
  if (state !== "failed") item.file = item.local = null;
  if (!items.some(active)) {
    const failed = items.filter((one) => one.state === "failed").length;
    const done = items.filter((one) => one.state === "done" && !one.told);
    for (const one of done) one.told = true;
    if (failed) toast(t("{n} file could not be uploaded|{n} files could not be uploaded", { n: failed }), { kind: "bad" });
    else if (done.length) toast(t("{n} file uploaded|{n} files uploaded", { n: done.length }), { seconds: 5 });
  }
  drawSoon();
}

/** Waits longer each time, and not at all once the network is back. */
function backOff(item, error) {
  item.tries += 1;
  if (item.tries > 12) return finish(item, "failed", error.message);
  const seconds = Math.min(30, 2 ** (item.tries - 1)) * (0.75 + Math.random() / 2);
  item.state = "retrying";
  item.message = error.message;
  item.timer = setTimeout(() => wake(item), seconds * 1000);
  return drawSoon();
}

function wake(item) {
  clearTimeout(item.timer);
  item.state = "waiting";
  pump();
}

addEventListener("online", () => {
  for (const item of items) {
    if (item.state === "retrying" || item.state === "failed" && item.abort) {
      item.tries = 0;
      wake(item);
    }
  }
});

function pause(item) {
  if (!active(item) || item.state === "asking") return;
  clearTimeout(item.timer);
  item.state = "paused";
  item.abort?.abort();
  drawSoon();
}

async function resume(item) {
  if (item.state === "missing") return findAgain(item);
  item.tries = 0;
  return wake(item);
}

function cancel(item) {
  clearTimeout(item.timer);
  const record = records.get(item);
  item.state = "cancelled";
  item.abort?.abort();
  if (record) request("DELETE", record.url, { headers: { "Tus-Resumable": "1.0.0" } }).catch(() => {});
  records.remove(item);
  items.splice(items.indexOf(item), 1);
  item.row?.remove();
  pump();
}

/** After a reload: what has a handle goes on, the rest waits for its file to be chosen again. */
export async function restore() {
  for (const record of await records.unfinished()) {
    if (items.some((item) => item.key === record.key)) continue;
    const item = { ...record, samples: [], sent: record.offset, tries: 0, batch: {}, href: record.href, state: "missing", message: t("choose the file again to go on") };
    items.push(item);
    if (item.handle && await item.handle.queryPermission?.({ mode: "read" }) === "granted") await findAgain(item);
  }
  drawSoon();
}

async function findAgain(item) {
  try {
    if (item.handle) {
      if (await item.handle.requestPermission?.({ mode: "read" }) === "denied") return;
      const file = await item.handle.getFile();
      if (records.keyOf({ ...item, file }) !== item.key) throw new Error(t("The file has changed since: upload it anew."));
      item.file = file;
      wake(item);
      return;
    }
    const input = h("input", { type: "file", onchange: () => {
      const [file] = input.files;
      if (!file) return;
      if (records.keyOf({ ...item, name: file.name, size: file.size, file }) !== item.key) return void toast(t("This is another file."), { kind: "bad" });
      item.file = file;
      wake(item);
    } });
    input.click();
  } catch (error) {
    fail(error);
  }
}

app.ownUploads = () => new Set(items.map((item) => records.get(item)?.url.split("/").at(-1)));

// The panel

const title = h("h2", { id: "transfers-title" });
const about = h("p", { class: "about", role: "status" });
const total = h("progress", { max: 1, value: 0 });
const list = h("ol");
const forAll = (label, iconName, which, work) => Object.assign(button(label, iconName, () => {
  for (const item of items.filter(which)) work(item);
  drawSoon();
}, { compact: true }), { which });
const all = [
  forAll(t("Pause all"), "pause", (item) => active(item) && item.state !== "asking", pause),
  forAll(t("Resume all"), "play", (item) => item.state === "paused", resume),
  forAll(t("Retry all"), "retry", (item) => item.state === "failed" && item.file, resume),
  forAll(t("Cancel all"), "close", (item) => !over(item) && item.state !== "verifying", cancel),
];
const hide = button(t("Close"), "close", () => {
  for (const item of items.filter(over)) item.row?.remove();
  items.splice(0, items.length, ...items.filter((item) => !over(item)));
  draw();
}, { compact: true });
const panel = h("section", { class: "transfers", "aria-labelledby": title.id, hidden: true },
  h("header", {}, h("div", { class: "line" }, title, all, hide), total, about), list);
document.body.append(panel);
total.setAttribute("aria-labelledby", title.id);

/** Bytes per second over the last seconds. */
function speedOf(holder, sent) {
  const now = performance.now();
  holder.samples.push([now, sent]);
  while (holder.samples.length > 2 && now - holder.samples[0][0] > 6000) holder.samples.shift();
  const [[since, before]] = holder.samples;
  return now > since ? Math.max(0, (sent - before) * 1000 / (now - since)) : 0;
}

const together = { samples: [] };
let drawing = null;
const drawSoon = () => { drawing ??= setTimeout(draw, 150); };

function draw() {
  clearTimeout(drawing);
  drawing = null;
  panel.hidden = !items.length;
  const open = items.filter((item) => !over(item));
  const busy = items.filter(active);
  const counted = items.filter((item) => item.state !== "missing");
  const bytes = counted.reduce((sum, item) => sum + item.size, 0);
  const sent = counted.reduce((sum, item) => sum + (over(item) ? item.size : item.sent), 0);
  const share = bytes ? sent / bytes : open.length ? 0 : 1;
  const percent = formatNumber(Math.floor(share * 100));
  const speed = busy.length ? speedOf(together, sent) : (together.samples.length = 0);
  const failed = items.filter((item) => item.state === "failed").length;
  const onlyMissing = open.length > 0 && open.every((item) => item.state === "missing");
  total.hidden = about.hidden = onlyMissing;
  title.textContent = onlyMissing ? t("Unfinished uploads") : !open.length && failed ? t("{n} file could not be uploaded|{n} files could not be uploaded", { n: failed }) : open.length ? t("Uploading {done} of {n}", { n: items.length, done: items.length - open.length }) : t("{n} transfer finished|{n} transfers finished", { n: items.length });
  total.value = share;
  about.textContent = [t("{percent} %", { percent }), `${formatSize(sent)} / ${formatSize(bytes)}`, speed > 0 ? t("{size}/s", { size: formatSize(speed) }) : "",
    speed > 0 && share < 1 ? t("ready {time}", { time: formatUntil((bytes - sent) / speed) }) : ""].filter(Boolean).join(" \u00b7 ");
  for (const one of all) one.hidden = !items.some(one.which);
  hide.hidden = open.length > 0;
  const rank = { asking: 0, sending: 0, verifying: 0, retrying: 0, failed: 1, missing: 1, paused: 2, waiting: 3, done: 4, skipped: 4 };
  const rows = [...items].sort((a, b) => rank[a.state] - rank[b.state]).slice(0, 60).map(drawItem);
  for (const row of [...list.children]) if (!rows.includes(row)) row.remove();
  rows.forEach((row, i) => { if (list.children[i] !== row) list.insertBefore(row, list.children[i] ?? null); });
  showProgress(busy.length ? percent : null, share);
  if (busy.length) drawing = setTimeout(draw, 400);
}

const stateWords = { waiting: "Waiting", sending: "Uploading", asking: "Waiting for your answer", paused: "Paused", verifying: "Verifying" };

function drawItem(item) {
  const name = shown([...item.folder ?? [], item.name].join("/"));
  if (!item.row) {
    const act = (kind, label, iconName, work) => button(`${t(label)}: ${name}`, iconName, () => work(item), { compact: true, "data-act": kind });
    item.row = h("li", {}, h("span", { class: "what" }, h("bdi", {}, name)), h("span", { class: "how" }),
      h("span", { class: "buttons" }, act("pause", "Pause", "pause", pause), act("resume", "Resume", "play", resume),
        act("retry", "Retry", "retry", resume), act("cancel", "Cancel", "close", cancel)),
      h("progress", { max: 1, value: 0, "aria-label": name }));
  }
  const { row } = item;
  const speed = item.state === "sending" ? speedOf(item, item.sent) : 0;
  const share = item.size ? item.sent / item.size : over(item) ? 1 : 0;
  row.className = item.state === "skipped" ? "done" : item.state;
  row.querySelector("progress").value = share;
  row.querySelector("progress").hidden = over(item);
  row.querySelector(".how").textContent = over(item) || item.state === "missing" ? `${formatSize(item.size)} \u00b7 ${item.message}`
    : item.state === "sending" ? [t("{percent} %", { percent: formatNumber(Math.floor(share * 100)) }), formatSize(item.size), speed > 0 ? t("{size}/s", { size: formatSize(speed) }) : ""].filter(Boolean).join(" \u00b7 ")
    : item.state === "retrying" ? `${t("Waiting for the connection")} \u00b7 ${item.message}` : t(stateWords[item.state]);
  const usable = { pause: active(item) && item.state !== "asking", resume: item.state === "paused" || item.state === "missing",
    retry: item.state === "failed" && Boolean(item.file), cancel: !over(item) && item.state !== "verifying" };
  for (const act of row.querySelectorAll("button")) act.hidden = !usable[act.dataset.act];
  return row;
}

// What shows outside the panel: the title, the icon, the question before leaving, the screen that stays on

const canvas = Object.assign(document.createElement("canvas"), { width: 32, height: 32 });
const favicon = document.querySelector("link[rel=icon]");
const plainIcon = favicon.href;
let lastPercent = null;

function showProgress(percent, share) {
  if (percent === lastPercent) return;
  lastPercent = percent;
  app.titlePrefix = percent === null ? "" : t("{percent} %", { percent }) + " \u00b7 ";
  document.title = app.titlePrefix + app.folderTitle;
  if (percent === null) return void (favicon.href = plainIcon);
  const pen = canvas.getContext("2d");
  pen.clearRect(0, 0, 32, 32);
  pen.lineWidth = 6;
  for (const [color, part] of [["#8883", 1], ["#2f7bf0", share]]) {
    pen.strokeStyle = color;
    pen.beginPath();
    pen.arc(16, 16, 12, -Math.PI / 2, -Math.PI / 2 + part * 2 * Math.PI);
    pen.stroke();
  }
  favicon.href = canvas.toDataURL();
}

const leaving = (event) => event.preventDefault();
let awake = false, lock = null;

async function keepAwake(wanted) {
  if (wanted === awake) return;
  awake = wanted;
  if (wanted) addEventListener("beforeunload", leaving);
  else removeEventListener("beforeunload", leaving);
  if (!wanted) return void lock?.release().catch(() => {});
  await holdLock();
}

/** The browser takes the lock away from a page that is not seen: it is taken again when it is. */
async function holdLock() {
  try {
    lock = await navigator.wakeLock?.request("screen");
  } catch {
    lock = null;
  }
}
addEventListener("visibilitychange", () => { if (awake && !document.hidden) holdLock(); });
addEventListener("pagehide", () => records.letGo(items));
