// Part of app.js: what can be done. Each action is one row: the toolbar, the menus, the keys and the help read it.

/** The state that actions work on; main.js fills it. */
export const app = { href: "/", listing: null, view: null, list: null, clipboard: null };

const transfer = () => import("./transfer.js");

const selection = () => app.listing.selected;
const can = (right) => app.listing.may(right);
const canCreate = () => can("create") && !app.listing.isSearch;

/** `scope` "folder" acts on the folder shown, "selection" on what is selected. `keys`: as `keyName` writes them. */
export const actions = [
  { id: "upload", label: "Upload files", icon: "upload", scope: "folder", keys: ["Shift+U"], kind: "primary", enabled: canCreate, run: () => pick("files") },
  { id: "upload.folder", label: "Upload folder", icon: "upload-folder", scope: "folder", keys: ["Shift+F"], enabled: canCreate, run: () => pick("folder") },
  { id: "upload.camera", label: "Take a photo", icon: "camera", scope: "folder", keys: [], phone: true, enabled: canCreate, run: () => pick("camera") },
  { id: "new.folder", label: "New folder", icon: "new-folder", scope: "folder", keys: ["Shift+N"], enabled: canCreate, run: newFolder },
  { id: "new.text", label: "New text file", icon: "new-file", scope: "folder", keys: ["Shift+T"], enabled: canCreate, run: newText },
  { id: "paste", label: "Paste", icon: "paste", scope: "folder", keys: ["Ctrl+V"], enabled: () => canCreate() && app.clipboard !== null, run: paste },
  { id: "open", label: "Open", icon: "eye", scope: "selection", keys: ["Enter"], menuOnly: true, enabled: () => selection().length === 1,
    run: () => app.openEntry(selection()[0]) },
  { id: "download", label: "Download", icon: "download", scope: "selection", keys: ["Shift+D"], enabled: () => can("read"), run: () => download("zip") },
  { id: "download.tar", label: "Download as tar.gz", icon: "archive", scope: "selection", keys: [], menuOnly: true,
    enabled: () => can("read") && selection().some((entry) => entry.isFolder), run: () => download("tar.gz") },
  { id: "rename", label: "Rename", icon: "rename", scope: "selection", keys: ["F2"], enabled: () => selection().length === 1 && can("delete"), run: rename },
  { id: "move.to", label: "Move to…", icon: "move", scope: "selection", keys: ["Shift+M"], enabled: () => can("delete"), run: () => moveTo("MOVE") },
  { id: "copy.to", label: "Copy to…", icon: "copy-to", scope: "selection", keys: ["Shift+C"], enabled: () => can("read"), run: () => moveTo("COPY") },
  { id: "delete", label: "Delete", icon: "delete", scope: "selection", keys: ["Delete"], kind: "danger", enabled: () => can("delete"), run: () => remove(selection()) },
  { id: "delete.forever", label: "Delete forever", icon: "delete", scope: "selection", keys: ["Shift+Delete"], menuOnly: true, kind: "danger",
    enabled: () => can("delete"), run: () => removeForever(selection()) },
  { id: "link", label: "Share link", icon: "link", scope: "selection", keys: ["Shift+L"], enabled: () => info.links && selection().length === 1,
    run: () => links(selection()[0].href) },
  { id: "cut", label: "Cut", icon: "cut", scope: "selection", keys: ["Ctrl+X"], enabled: () => can("delete"), run: () => setClipboard("MOVE") },
  { id: "copy", label: "Copy", icon: "copy", scope: "selection", keys: ["Ctrl+C"], enabled: () => can("read"), run: () => setClipboard("COPY") },
  { id: "select.all", label: "Select all", icon: "check", scope: "folder", keys: ["Ctrl+A"], menuOnly: true, enabled: () => app.listing.visible.length > 0,
    run: () => app.listing.selectOnly(app.listing.visible) },
  { id: "view.toggle", label: "List or grid", icon: "grid", scope: "view", keys: ["Shift+G"], enabled: () => true,
    run: () => app.setView({ mode: app.view.mode === "grid" ? "list" : "grid" }) },
  { id: "hidden.toggle", label: "Show or hide hidden files", icon: "eye", scope: "view", keys: ["Shift+H"], enabled: () => true, run: () => app.setView({ hidden: !app.view.hidden }) },
  { id: "filter", label: "Filter this folder", icon: "search", scope: "view", keys: ["/"], enabled: () => true, run: () => app.focusFilter() },
  { id: "up", label: "Up one folder", icon: "up", scope: "view", keys: ["Alt+ArrowUp", "Backspace"], enabled: () => app.href !== "/", run: () => app.open(parentOf(app.href)) },
  { id: "refresh", label: "Read again", icon: "retry", scope: "view", keys: ["Shift+R"], enabled: () => true, run: () => app.refresh() },
  { id: "download.folder", label: "Download this folder", icon: "download", scope: "more", keys: [], enabled: () => can("read"), run: () => save(address(app.href) + "?archive=zip") },
  { id: "link.folder", label: "Share this folder", icon: "link", scope: "more", keys: [], enabled: () => Boolean(info.links), run: () => links(app.href) },
  { id: "qr", label: "QR code", icon: "qr", scope: "more", keys: ["Shift+Q"], enabled: () => true, run: () => import("./qr.js").then((m) => m.showAddress()) },
  { id: "trash", label: "Trash", icon: "delete", scope: "more", keys: [], enabled: () => info.trashDays > 0, run: () => import("./trash.js").then((m) => m.showTrash()) },
  { id: "keys", label: "Keyboard shortcuts", icon: "keyboard", scope: "more", keys: ["?"], enabled: () => true, run: () => import("./help.js").then((m) => m.showKeys()) },
];

export const action = (id) => actions.find((one) => one.id === id);

export async function run(one) {
  if (!one.enabled() || (one.scope === "selection" && !selection().length)) return;
  try {
    await one.run();
  } catch (error) {
    fail(error);
  }
}

export function menuItems(list) {
  return list.filter((one) => one === null || one.enabled()).map((one) => one && {
    label: t(one.label), icon: one.icon, kind: one.kind === "danger" ? "danger" : "", keys: one.keys[0] && keyLabel(one.keys[0]),
    run: () => run(one),
  });
}

/** How a key is called on this machine. */
export function keyLabel(keys) {
  const apple = /Mac|iP(hone|ad)/.test(navigator.platform);
  return keys.split("+").map((key) => {
    if (apple && key === "Ctrl") return "\u2318";
    const words = { Ctrl: t("Ctrl"), Shift: t("Shift"), Delete: t("Del"), Enter: t("Enter"), Backspace: t("Backspace"), ArrowUp: "\u2191" };
    return words[key] ?? key;
  }).join(apple ? " " : "+");
}

const inputs = {};

/** The three file inputs stay in the document: without a picker of their own they can be set by others, too. */
export function makeInputs() {
  const make = (kind, properties) => {
    inputs[kind] = h("input", { type: "file", class: "quiet", tabIndex: -1, "aria-hidden": "true", multiple: true, onchange: async () => {
      const input = inputs[kind];
      const files = [...input.files];
      const { upload, fromPicker } = await transfer();
      upload(fromPicker(files), app.href);
      input.value = "";
    }, ...properties });
    inputs[kind].setAttribute("aria-label", t(action(kind === "files" ? "upload" : "upload." + kind).label));
    return inputs[kind];
  };
  return [make("files"), make("folder", { webkitdirectory: true }),
    make("camera", { accept: "image/*,video/*", capture: "environment" })];
}

function pick(kind) {
  inputs[kind].click();
}

const wrongName = (name) => /[/\0]/.test(name) || name === "." || name === "..";

async function newFolder() {
  const name = await ask(t("New folder"), t("Name"), app.listing.freeName(t("New folder"), true), t("Create"));
  if (!name) return;
  if (wrongName(name)) return toast(t("A name can't hold “/”."), { kind: "bad" });
  const href = app.href + encodeName(name) + "/";
  try {
    await makeFolder(href);
  } catch (error) {
    if (error.status === 405) return toast(t("“{name}” is already there: choose another name.", { name: shown(name) }), { kind: "bad" });
    throw error;
  }
  await app.refresh();
  app.list.focusEntry(name);
  toast(t("“{name}” created", { name: shown(name) }));
}

async function newText() {
  const suggestion = app.listing.freeName(t("New text.txt"), false);
  const name = await ask(t("New text file"), t("Name"), suggestion, t("Create"), stemLength(suggestion));
  if (!name) return;
  if (wrongName(name)) return toast(t("A name can't hold “/”."), { kind: "bad" });
  try {
    await request("PUT", address(app.href + encodeName(name)), {
      headers: { "If-None-Match": "*", "Content-Type": "text/plain; charset=utf-8" }, body: "",
    });
  } catch (error) {
    if (error.status === 412) return toast(t("“{name}” is already there: choose another name.", { name: shown(name) }), { kind: "bad" });
    throw error;
  }
  await app.refresh();
  const entry = app.listing.get(name);
  app.list.focusEntry(name);
  if (entry) app.openEntry(entry, { edit: true });
}

/** Lets the browser save an address: a link is clicked that nobody sees. */
export function save(href) {
  const link = h("a", { href, download: "", hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
}

function download(format) {
  const entries = selection();
  if (entries.length === 1 && !entries[0].isFolder && format === "zip") return save(address(entries[0].href) + "?download");
  if (entries.length === 1 && entries[0].isFolder) return save(address(entries[0].href) + "?archive=" + format);
  const parents = new Set(entries.map((entry) => parentOf(entry.href)));
  if (parents.size > 1) {
    entries.forEach((entry, i) => setTimeout(() => save(address(entry.href) + (entry.isFolder ? "?archive=" + format : "?download")), i * 400));
    return null;
  }
  const all = !app.listing.isSearch && !app.listing.filter && entries.length === app.listing.entries.size;
  const names = all ? "" : entries.map((entry) => "&name=" + entry.href.replace(/\/$/, "").split("/").at(-1)).join("");
  if (names.length > 7000) return toast(t("Too many files for one download: select the whole folder, or fewer files."), { kind: "bad" });
  return save(address([...parents][0]) + "?archive=" + format + names);
}

async function rename() {
  const entry = selection()[0];
  const name = await app.list.editName(entry);
  if (!name) return;
  if (wrongName(name)) return toast(t("A name can't hold “/”."), { kind: "bad" });
  const to = parentOf(entry.href) + encodeName(name) + (entry.isFolder ? "/" : "");
  const done = await transferEntries("MOVE", [{ from: entry.href, to, entry }], { quiet: true });
  await app.refresh();
  if (done.length) {
    app.list.focusEntry(nameOf(done[0].to));
    toast(t("Renamed to “{name}”", { name: shown(nameOf(done[0].to)) }), { action: t("Undo"), run: () => undoMoves(done) });
  }
}

export function setClipboard(method, entries = selection()) {
  if (!entries.length) return;
  app.clipboard = { method, items: entries.map(({ href, name, isFolder, size, modified, kind }) => ({ href, name, isFolder, size, modified, kind })) };
  toast(t(method === "MOVE" ? "{n} item cut: paste it where you want it|{n} items cut: paste them where you want them" : "{n} item copied: paste it where you want it|{n} items copied: paste them where you want them", { n: entries.length }), { seconds: 4 });
  app.updateBar();
}

async function paste() {
  if (!app.clipboard) return;
  const { method, items } = app.clipboard;
  if (method === "MOVE") app.clipboard = null;
  await place(method, items, app.href);
}

async function moveTo(method) {
  const items = selection();
  const { chooseFolder } = await import("./picker.js");
  const target = await chooseFolder(method, items);
  if (target) await place(method, items, target);
}

/** Moves or copies entries into a folder, asking about names that are taken. */
export async function place(method, items, target) {
  const pairs = [];
  for (const item of items) {
    const to = target + encodeName(item.name) + (item.isFolder ? "/" : "");
    if (item.isFolder && target.startsWith(item.href)) {
      toast(t("“{name}” can't be put into itself.", { name: shown(item.name) }), { kind: "bad" });
      continue;
    }
    if (to === item.href && method === "MOVE") continue;
    pairs.push({ from: item.href, to, entry: item, same: to === item.href });
  }
  const done = await transferEntries(method, pairs);
  await app.refresh();
  if (!done.length) return;
  const values = { n: done.length, folder: shown(nameOf(target) || t("Home")) };
  const undo = method === "MOVE" ? { action: t("Undo"), run: () => undoMoves(done) } : {};
  toast(t(method === "MOVE" ? "{n} item moved to “{folder}”|{n} items moved to “{folder}”" : "{n} item copied to “{folder}”|{n} items copied to “{folder}”", values), undo);
}

async function undoMoves(done) {
  await transferEntries("MOVE", done.map(({ from, to, entry }) => ({ from: to, to: from, entry }))).catch(fail);
  await app.refresh();
}

/** One after the other, so that an answer "for all" holds for the rest. Gives those that were done. */
async function transferEntries(method, pairs) {
  const done = [];
  let always = null;
  for (const pair of pairs) {
    const moved = (to) => { done.push({ ...pair, to }); };
    const beside = async () => {
      const target = parentOf(pair.to);
      for (let n = 2; n < 1000; n += 1) {
        const to = target + encodeName(numbered(nameOf(pair.to), n, pair.entry.isFolder)) + (pair.entry.isFolder ? "/" : "");
        try {
          await transferEntry(method, pair.from, to);
          return moved(to);
        } catch (error) {
          if (error.status !== 412) throw error;
        }
      }
    };
    try {
      if (pair.same) {
        await beside();
        continue;
      }
      await transferEntry(method, pair.from, pair.to);
      moved(pair.to);
    } catch (error) {
      if (error.status !== 412) {
        fail(error);
        continue;
      }
      const { askConflict } = await import("./conflict.js");
      const theirs = (await readFolder(parentOf(pair.to)).catch(() => null))?.get(nameOf(pair.to)) ?? null;
      const answer = always ?? await askConflict({ ours: pair.entry, theirs, folder: parentOf(pair.to), several: pairs.length > 1 });
      if (answer.all) always = answer;
      try {
        if (answer.choice === "replace") {
          await transferEntry(method, pair.from, pair.to, true);
          moved(pair.to);
        } else if (answer.choice === "keep") {
          await beside();
        }
      } catch (second) {
        fail(second);
      }
    }
  }
  return done;
}

export async function remove(entries) {
  if (info.trash === false) return removeForever(entries);
  let answer;
  try {
    const named = entries.filter((entry) => !entry.oddName);
    const odd = entries.filter((entry) => entry.oddName);
    answer = await request("POST", apiAddress("trash"), { json: {
      paths: named.map((entry) => pathOf(entry.href).replace(/\/$/, "")),
      ...(odd.length && { hrefs: odd.map((entry) => entry.href) }),
    } });
  } catch (error) {
    // Where nothing can be kept, deleting needs a question instead of an Undo.
    if ([404, 405, 501].includes(error.status)) return removeForever(entries);
    throw error;
  }
  const { items, failures } = await answer.json();
  for (const failure of failures ?? []) toast(`${shown(failure.path)}: ${failure.message}`, { kind: "bad" });
  await app.refresh();
  if (!items.length) return;
  const text = items.length === 1 ? t("“{name}” deleted", { name: shown(items[0].path.replace(/\/$/, "").split("/").at(-1)) }) : t("{n} item deleted|{n} items deleted", { n: items.length });
  toast(text, { action: t("Undo"), seconds: 30, run: async () => {
    try {
      await request("POST", apiAddress("trash/restore"), { json: { ids: items.map((item) => item.id), conflict: "keep" } });
      await app.refresh();
      toast(t("{n} item restored|{n} items restored", { n: items.length }), { seconds: 4 });
    } catch (error) {
      fail(error);
    }
  } });
}

async function removeForever(entries) {
  const text = entries.length === 1 ? t("Delete “{name}”? This can't be undone.", { name: shown(entries[0].name) }) : t("Delete {n} item? This can't be undone.|Delete {n} items? This can't be undone.", { n: entries.length });
  if (!await confirm(t("Delete forever"), text, t("Delete"))) return;
  let count = 0;
  for (const entry of entries) {
    try {
      await removeEntry(entry.href);
      count += 1;
    } catch (error) {
      fail(error);
    }
  }
  await app.refresh();
  if (count) toast(t("{n} item deleted|{n} items deleted", { n: count }));
}

const links = (href) => import("./links.js").then((module) => module.showLinks(href));
