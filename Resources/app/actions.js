// Each action is a row: bar, menus, keys and help read it.

export const app = {href: "/", uploads: [], onRemoteChange() {}, onAddress() {}}

const selection = () => app.listing.selected, may = right => app.listing.may(right), one = () => selection().length === 1
const canCreate = () => may("create") && !app.listing.isSearch, canRead = () => may("read"), canDelete = () => may("delete")

const scoped = (scope, rows, can = () => true) => rows.map(row => ({scope, icon: row.id, keys: [], can, ...row}))

export const actions = [
...scoped("folder", [
	{id: "upload", label: "Upload files", keys: ["Shift+U"], kind: "primary", run: () => pick("upload", () => showOpenFilePicker({multiple: true}))},
	{id: "upload-folder", label: "Upload folder", keys: ["Shift+F"], run: () => pick("upload-folder", async () => [await showDirectoryPicker()])},
	{id: "camera", label: "Take a photo", can: () => isPhone() && canCreate(), run: () => inputs.camera.click()},
	{id: "new-folder", label: "New folder", keys: ["Shift+N"], run: () => create(t("New folder"), t("New folder"), true, makeFolder)},
	{id: "new-file", label: "New text file", icon: "text", keys: ["Shift+T"], can: () => canCreate() && canRead() && may("overwrite"), run: newText},
	{id: "paste", label: "Paste", keys: ["Ctrl+V"], can: () => canCreate() && app.clipboard, run: paste},
	{id: "all", label: "Select all", icon: "check", keys: ["Ctrl+A"], menuOnly: true, can: () => app.listing.visible.length,
		run: () => {
			app.listing.selectOnly([])
			app.listing.setAll(true)
		}},
], canCreate),
...scoped("selection", [
	{id: "open", label: "Open", icon: "eye", keys: ["Enter"], menuOnly: true, can: one, run: () => app.openEntry(selection()[0])},
	{id: "download", label: "Download", keys: ["Shift+D"], run: () => download("zip")},
	{id: "archive", label: "Download as tar.gz", menuOnly: true, run: () => download("tar.gz")},
	{id: "rename", label: "Rename", keys: ["F2"], can: () => one() && canDelete() && app.listing.visible.includes(selection()[0]), run: rename},
	{id: "move", label: "Move to…", keys: ["Shift+M"], can: canDelete, run: () => chooseAndPlace("MOVE")},
	{id: "copy-to", label: "Copy to…", icon: "copy", keys: ["Shift+C"], run: () => chooseAndPlace("COPY")},
	{id: "delete", label: "Delete", keys: ["Delete"], kind: "danger", can: canDelete, run: () => remove(selection())},
	{id: "forever", label: "Delete forever", icon: "delete", keys: ["Shift+Delete"], menuOnly: true, kind: "danger", can: canDelete,
		run: () => removeForever(selection())},
	{id: "link", label: "Share link", keys: ["Shift+L"], can: () => info.links && one() && canRead(), run: () => ask("showLinks", selection()[0].href)},
], canRead),
...scoped("clipboard", [
	{id: "cut", label: "Cut", keys: ["Ctrl+X"], can: canDelete, run: () => setClipboard("MOVE")},
	{id: "copy", label: "Copy", keys: ["Ctrl+C"], run: () => setClipboard("COPY")},
], canRead),
...scoped("view", [
	{id: "grid", label: "List or grid", keys: ["Shift+G"], run: () => setView({mode: view.mode === "grid" ? "list" : "grid"})},
	{id: "hidden", label: "Hidden files", icon: "eye", keys: ["Shift+H"], run: () => setView({hidden: !view.hidden})},
	{id: "home", label: "Home", keys: ["Alt+Home"], can: () => app.href !== "/", run: () => open("/")},
	{id: "up", label: "Up one folder", keys: ["Alt+ArrowUp", "Backspace"], can: () => app.href !== "/",
		run: () => open(parentOf(app.href))},
	{id: "retry", label: "Read again", keys: ["Shift+R"], run: refresh},
	{id: "search", label: "Filter this folder", keys: ["/"], run: () => filter.select()},
	{id: "close", label: "Clear", keys: ["Escape"],
		can: () => selection().length || app.listing.filter || app.listing.isSearch, run: clear},
]),
...scoped("more", [
	{id: "downloadAll", label: "Download this folder", icon: "download", can: canRead, run: () => save(app.href, "archive=zip")},
	{id: "linkAll", label: "Share this folder", icon: "link", can: () => info.links && canRead(), run: () => ask("showLinks", app.href)},
	{id: "qr", label: "QR code", keys: ["Shift+Q"], run: () => ask("showCode", location.href)},
	{id: "trash", label: "Trash", icon: "delete", can: () => info.trashDays > 0, run: () => ask("showTrash")},
	{id: "keyboard", label: "Keyboard shortcuts", keys: ["?"], run: () => ask("showKeys")},
]),
...scoped("session", [
	{id: "logIn", label: "Log in", icon: "user", can: () => info.canLogIn, run: () => showState("login", app.listing)},
	{id: "logOut", label: "Log out {user}", icon: "user", can: () => info.canLogOut, run: () => request("POST", apiAddress("logout")).then(() => location.reload())},
]),
]

const action = name => actions.find(({id, keys}) => id === name || keys.includes(name))

const needsSelection = ({scope}) => scope === "selection" || scope === "clipboard"

async function run(one) {
	const {listing} = app
	// All of them have yet to come.
	if (needsSelection(one) && listing.coming !== undefined) return void (listing.next = one)
	if (!one.can() || needsSelection(one) && !selection().length) return
	try {
		await one.run()
	} catch (error) {
		fail(error)
	}
	holdFocus()
}

const inScope = (...scopes) => actions.filter(one => scopes.includes(one.scope))

const menuItems = (...scopes) => scopes.map(scope => inScope(scope).filter(one => one.can()).map(one => ({
	label: t(one.label, info), icon: one.icon, kind: one.kind, keys: one.keys[0] && keyLabel(one.keys[0]), run: () => run(one),
}))).filter(group => group.length).flatMap((group, i) => (i ? [null, ...group] : group))

export function keyLabel(keys) {
	const words = {Ctrl: /Mac|iP(hone|ad)/.test(navigator.platform) ? "⌘" : t("Ctrl"), Shift: t("Shift"), Delete: t("Del"), Enter: t("Enter"), Backspace: t("Backspace"), Escape: "Esc", ArrowUp: "↑"}
	return keys.split("+").map(key => words[key] ?? key).join("+")
}

const inputs = {}

// On phones the field itself offers the camera.
const isPhone = () => matchMedia("(pointer: coarse)").matches

async function pick(field, show) {
	const asked = performance.now()
	let handles
	try {
		handles = !isPhone() && await show()
	} catch (error) {
		if (error.name === "AbortError" && performance.now() - asked > 500) return
	}
	if (handles) uploadFrom("handles", app.href, handles)
	else inputs[field].click()
}

// A bad line is tried twice.
export const bring = (name, place = import.meta.resolve(`./${name}.js`)) => import(place).catch(() => import(place)).catch(async () => {
	const {status} = await request("HEAD", place).catch(error => error)
	throw status === 404 ? new Error(t("Load the page again")) : new ApiError(0)
})

const uploadFrom = (kind, target, ...what) => bring("transfer").then(({sources, upload}) => { upload(sources[kind](...what), target) },
	error => toast(error.message, {kind: "bad", seconds: 60, action: t("Retry"), run: () => uploadFrom(kind, target, ...what)}))

function makeInputs() {
	const make = (id, properties) => {
		inputs[id] = h("input", {type: "file", hidden: true, label: t(action(id).label), multiple: true, onchange: async () => {
			await uploadFrom("files", app.href, [...inputs[id].files])
			inputs[id].value = ""
		}, ...properties})
	}
	make("upload")
	make("upload-folder", {webkitdirectory: true})
	make("camera", {accept: "image/*,video/*", capture: "environment"})
	return Object.values(inputs)
}

function checkedName(name) {
	if (/^\.\.?$/.test(name)) throw new ApiError(400)
	if (name?.includes("/")) throw new Error(t("A name can't hold “/”"))
	return name
}

async function create(title, suggestion, isFolder, make) {
	const name = await askName(title, app.listing.freeName(suggestion, isFolder), isFolder, typed => make(childOf(app.href, typed, isFolder)))
	if (!name) return null
	clearFind(true)
	if (name.startsWith(".")) view.hidden = true
	await refresh()
	list.focusEntry(name)
	return app.listing.get(name)
}

async function newText() {
	const entry = await create(t("New text file"), t("New text") + ".txt", false, href => request("PUT", address(href),
		{headers: {"If-None-Match": "*"}, body: ""}))
	if (entry) app.openEntry(entry, {edit: true})
}

export const save = (href, query) => h("a", {href: `${address(href)}?${query}`, download: ""}).click()

function download(format) {
	const entries = selection(), [{href, isFolder}] = entries, depth = app.href.split("/").length - 1, query = "archive=" + format
	if (entries.length === 1 && (isFolder || format === "zip")) return save(href, isFolder ? query : "download")
	const all = !app.listing.isSearch && entries.length === app.listing.entries.size
	const paths = all ? "" : entries.map(({href}) => "&path=" + href.split("/").slice(depth).join("/")).join("")
	if (paths.length < 7000) return save(app.href, query + paths)
	// Too long for an address. Plain text stays encoded.
	const form = h("form", {method: "post", enctype: "text/plain", target: "_blank", action: `${address(app.href)}?${query}`},
		h("input", {name: "path", value: paths.slice(6)}))
	document.body.append(form)
	form.submit()
	form.remove()
}

async function rename([entry] = selection(), typed) {
	const name = await list.editName(entry, typed)
	if (!name) return
	let refused
	const done = await transferEntries("MOVE", [{from: entry.href, to: childOf(parentOf(entry.href), name, entry.isFolder), entry}], error => { refused = error })
	if (refused) fail(refused)
	if (refused && app.listing.visible.includes(entry)) return rename([entry], name)
	if (!done.length) return
	const now = nameOf(done[0].to)
	list.focusEntry(now)
	toast(t("Renamed to “{name}”", {name: shown(now)}), undoOf(done))
}

function setClipboard(method) {
	app.clipboard = {method, items: selection()}
	toast(t(method === "MOVE" ? "{n} cut: paste where you want" : "{n} copied: paste where you want", {n: selection().length}), {seconds: 4})
	updateBar()
}

async function paste() {
	const {clipboard} = app, {method, items} = clipboard
	if (method === "MOVE") app.clipboard = null
	if (await place(method, items, app.href)) return
	app.clipboard ??= clipboard
	updateBar()
}

async function chooseAndPlace(method) {
	const items = selection(), target = await ask("chooseFolder", method, items)
	if (target) await place(method, items, target)
}

async function place(method, items, target) {
	const usable = items.filter(({href, isFolder}) => !isFolder || !target.startsWith(href))
	if (usable.length < items.length) fail(new Error(t("A folder can't go into itself")))
	const pairs = usable.map(entry => ({from: entry.href, to: target + entry.href.slice(parentOf(entry.href).length), entry}))
		.filter(({from, to}) => to !== from || method === "COPY")
	const done = await transferEntries(method, pairs)
	if (!done.length) return false
	const moved = method === "MOVE"
	toast(t(moved ? "{n} item{s} moved to “{folder}”" : "{n} item{s} copied to “{folder}”", {n: done.length, folder: folderName(target)}),
		moved && undoOf(done))
	return true
}

async function undoMoves(done) {
	await transferEntries("MOVE", done.map(({from, to, entry}) => ({from: to, to: from, entry})).reverse())
	const gone = done.filter(one => one.replaces), {items} = gone.length && info.trash ? await api("GET", "trash") : {items: []}
	for (const {to} of gone) {
		// The latest is the first.
		const item = items.find(({path}) => path === pathOf(to).replace(/\/$/, ""))
		if (item) await restore([item])
		else toast(joined(`“${shown(nameOf(to))}”`, t("This can't be undone.")), {kind: "bad"})
	}
}

async function placeBeside(method, {from, to, entry}, n = 2) {
	const beside = childOf(parentOf(to), numbered(nameOf(to), n, entry.isFolder), entry.isFolder)
	return await placed(method, from, beside) ? beside : placeBeside(method, {from, to, entry}, n + 1)
}

// `seen`: what alone is replaced.
const placed = (method, from, to, seen) => request(method, address(from), {headers: {Destination: location.origin + address(to),
	...(seen ? {If: `<${address(to)}> (${seen})`} : {Overwrite: "F"})}}).catch(error => {
	if (error.status !== 412) throw error
	return false
})

// Of a folder: of all in it.
async function stateNow({href, isFolder, etag}) {
	if (!isFolder) return `[${etag}]`
	const answer = await request("PROPFIND", address(href), {headers: {Depth: 0}, body: '<propfind xmlns="DAV:"><prop><sync-token/></prop></propfind>'})
	const [, token] = /-token>(.+?)</.exec(await answer.text()) ?? []
	return token && `<${token}>`
}

export const holdPage = when => addEventListener("beforeunload", event => { if (when()) claim(event) })

let working = 0
holdPage(() => working)

async function transferEntries(method, pairs, refuse = fail) {
	const done = [], batch = {size: pairs.length}
	let listing
	const settle = async (pair, before) => {
		checkedName(nameOf(pair.to))
		if (pair.from === pair.to) return placeBeside(method, pair)
		if (await placed(method, pair.from, pair.to)) return pair.to
		if (batch.policy === "skip") return null
		const folder = parentOf(pair.to), name = nameOf(pair.to)
		if (before || listing?.href !== folder || !listing.get(name)) listing = await readFolder(folder)
		const theirs = listing.get(name), seen = theirs?.isFolder === pair.entry.isFolder && await stateNow(theirs)
		// Refused unchanged: too large to compare.
		const mayReplace = seen && seen !== before && listing.may("overwrite")
		const answer = !before && batch.policy || await ask("askConflict", batch, {ours: pair.entry, theirs, folder, mayReplace})
		if (answer === "skip") return null
		if (answer === "keep" || !mayReplace) return placeBeside(method, pair)
		if (!await placed(method, pair.from, pair.to, seen)) return settle(pair, seen)
		pair.replaces = true
		return pair.to
	}
	working++
	for (const pair of pairs) {
		try {
			const to = await settle(pair)
			if (to) done.push({...pair, to})
		} catch (error) {
			refuse(error)
		}
	}
	working--
	await refresh()
	return done
}

// No trash has what was replaced.
const undoOf = done => (info.trashDays || !done.some(({replaces, entry}) => replaces && entry.isFolder)) && {action: t("Undo"), run: () => undoMoves(done).catch(fail)}

const sayDeleted = n => t("{n} item{s} deleted", {n})

async function remove(entries) {
	// Without a trash, a question stands for the Undo.
	if (!info.trash) return removeForever(entries)
	// The first waits for the last, twice.
	const items = await inPieces("trash", entries, part => ({hrefs: part.map(entry => address(entry.href)), undo: 60 + entries.length / 20}))
	await refresh()
	return items.length && toast(sayDeleted(items.length), {action: t("Undo"), seconds: 30, run: () => restore(items.filter(({id}) => id).reverse())})
}

export async function restore(items) {
	const done = await inPieces("trash/restore", items, part => ({ids: part.map(({id}) => id), conflict: "keep"}))
	await refresh()
	for (const {path} of done) if (!items.some(item => item.path === path)) toast(t("Renamed to “{name}”", {name: shown(nameOf(path))}))
}

// One document holds a MiB.
async function inPieces(rest, all, document) {
	const done = []
	try {
		for (let at = 0; at < all.length; at += 100) {
			const {items, failures} = await api("POST", rest, document(all.slice(at, at + 100)))
			done.push(...items)
			for (const {path, message} of failures) toast(`${shown(nameOf(all.find(({id}) => id === path)?.path ?? path))}: ${message}`, {kind: "bad"})
		}
	} catch (error) {
		fail(error)
	}
	return done
}

async function removeForever(entries) {
	const what = entries.length > 1 ? t("{n} selected", {n: entries.length}) : `“${shown(entries[0].name)}”`
	if (!await confirmLoss(t("Delete forever"), what)) return
	let count = 0
	for (const entry of entries) await request("DELETE", address(entry.href)).then(() => { count++ }, fail)
	await refresh()
	if (count) toast(sayDeleted(count))
}

const ask = async (dialog, ...what) => (await bring("dialogs"))[dialog](...what)
