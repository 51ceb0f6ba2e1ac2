// Part of app.js: what can be done. Each action is one row: the bar, the menus, the keys and the help read it.

/** The state that actions work on; main.js fills it. */
export const app = { href: "/", clipboard: null };

const selection = () => app.listing.selected;
const can = (right) => app.listing.may(right);
const canCreate = () => can("create") && !app.listing.isSearch;
const canRead = () => can("read");
const canDelete = () => can("delete");

const scoped = (scope, rows) => rows.map((row) => ({ scope, keys: [], enabled: () => true, ...row }));

/** "folder" acts on the folder shown, "selection" on what is selected. Rows with `menuOnly` have no button in the bar. */
export const actions = [
...scoped("folder", [
	{ id: "upload", label: "Upload files", icon: "upload", keys: ["Shift+U"], kind: "primary", enabled: canCreate, run: () => inputs.upload.click() },
	{ id: "folder", label: "Upload folder", icon: "upload-folder", keys: ["Shift+F"], enabled: canCreate, run: () => inputs.folder.click() },
	{ id: "camera", label: "Take a photo", icon: "camera", phone: true, enabled: canCreate, run: () => inputs.camera.click() },
	{ id: "newFolder", label: "New folder", icon: "new-folder", keys: ["Shift+N"], enabled: canCreate, run: newFolder },
	{ id: "newText", label: "New text file", icon: "new-file", keys: ["Shift+T"], enabled: canCreate, run: newText },
	{ id: "paste", label: "Paste", icon: "paste", keys: ["Ctrl+V"], enabled: () => canCreate() && app.clipboard, run: paste },
	{ id: "all", label: "Select all", icon: "check", keys: ["Ctrl+A"], menuOnly: true, enabled: () => app.listing.visible.length,
		run: () => app.listing.selectOnly(app.listing.visible) },
]),
...scoped("selection", [
	{ id: "open", label: "Open", icon: "eye", keys: ["Enter"], menuOnly: true, enabled: () => selection().length === 1,
		run: () => app.openEntry(selection()[0]) },
	{ id: "download", label: "Download", icon: "download", keys: ["Shift+D"], enabled: canRead, run: () => download("zip") },
	{ id: "tar", label: "Download as tar.gz", icon: "archive", menuOnly: true, enabled: canRead, run: () => download("tar.gz") },
	{ id: "rename", label: "Rename", icon: "rename", keys: ["F2"], enabled: () => selection().length === 1 && canDelete(), run: rename },
	{ id: "move", label: "Move to…", icon: "move", keys: ["Shift+M"], enabled: canDelete, run: () => chooseAndPlace("MOVE") },
	{ id: "copyTo", label: "Copy to…", icon: "copy-to", keys: ["Shift+C"], enabled: canRead, run: () => chooseAndPlace("COPY") },
	{ id: "delete", label: "Delete", icon: "delete", keys: ["Delete"], kind: "danger", enabled: canDelete, run: () => remove(selection()) },
	{ id: "forever", label: "Delete forever", icon: "delete", keys: ["Shift+Delete"], menuOnly: true, kind: "danger", enabled: canDelete,
		run: () => removeForever(selection()) },
	{ id: "link", label: "Share link", icon: "link", keys: ["Shift+L"], enabled: () => info.links && selection().length === 1,
		run: () => shareLinks(selection()[0].href) },
	{ id: "cut", label: "Cut", icon: "cut", keys: ["Ctrl+X"], enabled: canDelete, run: () => setClipboard("MOVE") },
	{ id: "copy", label: "Copy", icon: "copy", keys: ["Ctrl+C"], enabled: canRead, run: () => setClipboard("COPY") },
]),
...scoped("view", [
	{ id: "view", label: "List or grid", icon: "grid", keys: ["Shift+G"], run: () => app.setView({ mode: app.view.mode === "grid" ? "list" : "grid" }) },
	{ id: "hidden", label: "Show or hide hidden files", icon: "eye", keys: ["Shift+H"], run: () => app.setView({ hidden: !app.view.hidden }) },
	{ id: "up", label: "Up one folder", icon: "up", keys: ["Alt+ArrowUp", "Backspace"], enabled: () => app.href !== "/",
		run: () => app.open(parentOf(app.href)) },
	{ id: "refresh", label: "Read again", icon: "retry", keys: ["Shift+R"], run: () => app.refresh() },
	{ id: "filter", label: "Filter this folder", icon: "search", keys: ["/"], run: () => app.focusFilter() },
]),
...scoped("more", [
	{ id: "downloadAll", label: "Download this folder", icon: "download", enabled: canRead, run: () => save(app.href, "archive=zip") },
	{ id: "linkAll", label: "Share this folder", icon: "link", enabled: () => info.links, run: () => shareLinks(app.href) },
	{ id: "qr", label: "QR code", icon: "qr", keys: ["Shift+Q"], run: async () => (await import("./qr.js")).showCode(location.href) },
	{ id: "trash", label: "Trash", icon: "delete", enabled: () => info.trashDays > 0, run: async () => (await import("./trash.js")).showTrash() },
	{ id: "keys", label: "Keyboard shortcuts", icon: "keyboard", keys: ["?"], run: async () => (await import("./help.js")).showKeys() },
]),
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

const menuItems = (...groups) => groups.map((group) => group.filter((one) => one.enabled()).map((one) => ({
	label: t(one.label), icon: one.icon, kind: one.kind, keys: one.keys[0] && keyLabel(one.keys[0]), run: () => run(one),
}))).reduce((all, group) => [...all, ...(all.length && group.length ? [null] : []), ...group], []);

export function keyLabel(keys) {
	const apple = /Mac|iP(hone|ad)/.test(navigator.platform);
	const words = { Ctrl: apple ? "\u2318" : t("Ctrl"), Shift: t("Shift"), Delete: t("Del"), Enter: t("Enter"), Backspace: t("Backspace"), ArrowUp: "\u2191" };
	return keys.split("+").map((key) => words[key] ?? key).join("+");
}

const inputs = {};

/** They stay in the document; that of the camera on phones only. */
function makeInputs() {
	const make = (id, properties) => {
		inputs[id] = h("input.quiet", { type: "file", tabIndex: -1, "aria-hidden": "true", "aria-label": t(action(id).label), multiple: true, onchange: async () => {
			const files = [...inputs[id].files];
			inputs[id].value = "";
			const { upload, fromPicker } = await import("./transfer.js");
			upload(fromPicker(files), app.href);
		}, ...properties });
	};
	make("upload", {});
	make("folder", { webkitdirectory: true });
	make("camera", { accept: "image/*,video/*", capture: "environment" });
	return Object.values(inputs).slice(0, matchMedia("(pointer: coarse)").matches ? 3 : 2);
}

function checkedName(name) {
	if (name && !/[/\0]/.test(name) && name !== "." && name !== "..") return name;
	if (name) toast(t("A name can't hold “/”"), { kind: "bad" });
	return null;
}

async function create(label, suggestion, isFolder, make) {
	const name = checkedName(await askName(t(label), app.listing.freeName(suggestion, isFolder), isFolder));
	if (!name) return null;
	try {
		await make(childOf(app.href, name, isFolder));
	} catch (error) {
		if (error.status !== 405 && error.status !== 412) throw error;
		toast(t("“{name}” is already there", { name: shown(name) }), { kind: "bad" });
		return null;
	}
	await app.refresh();
	app.list.focusEntry(name);
	return app.listing.get(name);
}

function newFolder() {
	return create("New folder", t("New folder"), true, makeFolder);
}

async function newText() {
	const entry = await create("New text file", t("New text") + ".txt", false, (href) => request("PUT", address(href),
		{ headers: { "If-None-Match": "*", "Content-Type": "text/plain; charset=utf-8" }, body: "" }));
	if (entry) app.openEntry(entry, { edit: true });
}

export const save = (href, query) => h("a", { href: `${address(href)}?${query}`, download: "" }).click();

const saveEntry = (entry, format) => save(entry.href, entry.isFolder ? "archive=" + format : "download");

function download(format) {
	const entries = selection();
	const folders = new Set(entries.map((entry) => parentOf(entry.href)));
	if (entries.length === 1 && (entries[0].isFolder || format === "zip")) return saveEntry(entries[0], format);
	if (folders.size > 1) return entries.forEach((entry, i) => setTimeout(saveEntry, i * 400, entry, format));
	const all = !app.listing.isSearch && entries.length === app.listing.entries.size;
	const names = all ? "" : entries.map((entry) => "&name=" + lastOf(entry.href)).join("");
	if (names.length > 7000) return toast(t("Too many for one download: select the whole folder"), { kind: "bad" });
	return save([...folders][0], "archive=" + format + names);
}

async function rename() {
	const [entry] = selection();
	const name = checkedName(await app.list.editName(entry));
	if (!name) return;
	const done = await transferEntries("MOVE", [{ from: entry.href, to: childOf(parentOf(entry.href), name, entry.isFolder), entry }]);
	await app.refresh();
	if (!done.length) return;
	const now = nameOf(done[0].to);
	app.list.focusEntry(now);
	toast(t("Renamed to “{name}”", { name: shown(now) }), { action: t("Undo"), run: () => undoMoves(done) });
}

function setClipboard(method) {
	app.clipboard = { method, items: selection() };
	toast(t(method === "MOVE" ? "{n} cut: paste where you want" : "{n} copied: paste where you want", { n: selection().length }), { seconds: 4 });
	app.updateBar();
}

async function paste() {
	const { method, items } = app.clipboard;
	if (method === "MOVE") app.clipboard = null;
	await place(method, items, app.href);
}

async function chooseAndPlace(method) {
	const items = selection();
	const { chooseFolder } = await import("./picker.js");
	const target = await chooseFolder(method, items);
	if (target) await place(method, items, target);
}

export async function place(method, items, target) {
	const pairs = items.map((entry) => ({ from: entry.href, to: childOf(target, entry.name, entry.isFolder), entry }))
		.filter(({ from, to, entry }) => !(entry.isFolder && target.startsWith(from)) && (to !== from || method === "COPY"));
	const done = await transferEntries(method, pairs);
	await app.refresh();
	if (!done.length) return;
	const text = method === "MOVE" ? "{n} item moved to “{folder}”|{n} items moved to “{folder}”" : "{n} item copied to “{folder}”|{n} items copied to “{folder}”";
	toast(t(text, { n: done.length, folder: shown(nameOf(target) || t("Home")) }), method === "MOVE" ? { action: t("Undo"), run: () => undoMoves(done) } : {});
}

async function undoMoves(done) {
	await transferEntries("MOVE", done.map(({ from, to, entry }) => ({ from: to, to: from, entry })));
	await app.refresh();
}

async function placeBeside(method, { from, to, entry }) {
	for (let n = 2; ; n += 1) {
		const beside = childOf(parentOf(to), numbered(nameOf(to), n, entry.isFolder), entry.isFolder);
		try {
			await transferEntry(method, from, beside);
			return beside;
		} catch (error) {
			if (error.status !== 412 || n > 999) throw error;
		}
	}
}

/** One after the other, so that an answer "for all" holds for the rest. Gives those that were done. */
async function transferEntries(method, pairs) {
	const done = [];
	let always = null;
	const settle = async (pair) => {
		if (pair.from === pair.to) return placeBeside(method, pair);
		try {
			await transferEntry(method, pair.from, pair.to);
			return pair.to;
		} catch (error) {
			if (error.status !== 412) throw error;
		}
		const { askConflict } = await import("./conflict.js");
		const folder = parentOf(pair.to);
		const theirs = (await readFolder(folder)).get(nameOf(pair.to));
		const answer = always ?? await askConflict({ ours: pair.entry, theirs, folder, several: pairs.length > 1 });
		if (answer.all) always = answer;
		if (answer.choice === "keep") return placeBeside(method, pair);
		if (answer.choice === "skip") return null;
		await transferEntry(method, pair.from, pair.to, true);
		return pair.to;
	};
	for (const pair of pairs) {
		try {
			const to = await settle(pair);
			if (to) done.push({ ...pair, to });
		} catch (error) {
			fail(error);
		}
	}
	return done;
}

const sayDeleted = (n) => t("{n} item deleted|{n} items deleted", { n });

async function remove(entries) {
	let answer;
	try {
		const hrefs = entries.filter((entry) => entry.oddName).map((entry) => entry.href);
		answer = await request("POST", apiAddress("trash"), { json: {
			paths: entries.filter((entry) => !entry.oddName).map((entry) => pathOf(entry.href).replace(/\/$/, "")), ...(hrefs.length && { hrefs }) } });
	} catch (error) {
		// Where nothing can be kept, deleting needs a question instead of an Undo.
		if ([404, 405, 501].includes(error.status)) return removeForever(entries);
		throw error;
	}
	const { items, failures } = await answer.json();
	for (const failure of failures ?? []) toast(`${shown(failure.path)}: ${failure.message}`, { kind: "bad" });
	await app.refresh();
	return items.length && toast(sayDeleted(items.length), { action: t("Undo"), seconds: 30, run: async () => {
		try {
			await request("POST", apiAddress("trash/restore"), { json: { ids: items.map((item) => item.id), conflict: "keep" } });
			await app.refresh();
		} catch (error) {
			fail(error);
		}
	} });
}

async function removeForever(entries) {
	const text = t("Delete “{name}”? This can't be undone.|Delete {n} items? This can't be undone.", { n: entries.length, name: shown(entries[0].name) });
	if (!await confirm(t("Delete forever"), text, t("Delete"))) return;
	let count = 0;
	for (const entry of entries) await request("DELETE", address(entry.href)).then(() => { count += 1; }, fail);
	await app.refresh();
	if (count) toast(sayDeleted(count));
}

const shareLinks = async (href) => (await import("./links.js")).showLinks(href);
