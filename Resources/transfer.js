// Uploads that outlive connections, servers and pages.

import {address, after, ApiError, app, base, childOf, digestOf, encodeName, fail, formatShare, formatSize, formatUntil, h, holdFocus, holdPage, iconButton, info, joined, kindOf,
	makeFolder, memory, nameOf, numbered, parentOf, readFolder, request, sayTaken, shown, t, tagOf, toast, touch, wantDigest} from "./app.js"
import {askConflict} from "./dialogs.js"
import {conditionOf, offsetOf, records, send, sendResumable, tusVersion} from "./tus.js"

// Where files come from: streams of {file, path, handle} and {folder}.

async function* childrenOf(entry) {
	if (entry.values) return yield* entry.values()
	const reader = entry.createReader()
	for (;;) {
		// A hundred at a time, none at the end.
		const batch = await new Promise((resolve, reject) => reader.readEntries(resolve, reject))
		if (!batch.length) return
		yield* batch
	}
}

const fileOf = entry => entry.getFile?.() ?? new Promise((resolve, reject) => entry.file(resolve, reject))

// `root`: the handle that leads here after a reload.
async function* walk(entry, root, path = entry.name) {
	try {
		if (entry.isFile || entry.kind === "file") return yield {file: await fileOf(entry), path, root}
		yield {folder: path, root}
		for await (const child of childrenOf(entry)) yield* walk(child, root, `${path}/${child.name}`)
	} catch (error) {
		if (error.name === "NotAllowedError") throw error
		fail(new Error(joined(path, error.message)))
	}
}

export const sources = {
	files: files => files.map(file => ({file, path: file.webkitRelativePath || file.name})),

	// An entry knows names that a handle leaves out.
	async *drop(items) {
		for (const {entry, file, handle} of items) {
			if (entry?.isDirectory) yield* walk(entry, await handle)
			else if (file) yield {file, path: file.name, handle}
		}
	},

	async *handles(handles) {
		for (const handle of handles) {
			if (handle.kind === "file") yield {file: await handle.getFile(), path: handle.name, handle}
			else {
				if (!memory.get("told")) toast(t("Shortcuts and names with “:” are left out. Drop the folder to send all."), {seconds: 20})
				memory.set("told", true)
				yield* walk(handle, handle)
			}
		}
	},

	async *clipboard(files, text) {
		// Swedes write 2026-12-31 23:59:59.
		const stamp = new Date().toLocaleString("sv").replaceAll(":", ".")
		// All pictures from there are called image.png.
		for (const file of files) yield {file, path: file.name === "image.png" ? `${t("Pasted image")} ${stamp}.png` : file.name}
		if (!files.length) yield {file: new File([text], "text", {type: "text/plain"}), path: `${t("Pasted text")} ${stamp}.txt`}
	},
}

const parallel = 3, chooseAgain = t("choose the file again to go on")
// From here on an upload has a record.
const resumableFrom = 1 << 20
// Perhaps 100,000: what is done for each must not look at all. None before `first` waits.
const items = [], byKey = new Map()
let running = 0, done = 0, first = 0

const among = (...states) => ({state}) => states.includes(state)
const isActive = among("waiting", "sending", "retrying", "asking"), isOver = among("done", "skipped", "failed"), isMissing = among("missing")
const isBusy = () => Boolean(items.findLast(isActive))
const mayPause = among("waiting", "sending", "retrying"), mayResume = among("paused", "missing"), hasFailed = among("failed")
const mayRetry = item => hasFailed(item) && item.file, mayCancel = item => !isOver(item) && item.state !== "verifying"

// Plain http has no crypto.subtle, and no browser hashes a stream.
const digests = []
let worker
function hashOf(file) {
	worker ??= Object.assign(new Worker(new URL("hash.js", import.meta.url)), {onmessage: ({data}) => {
		const {resolve, reject} = digests.shift()
		if (data) resolve(data)
		else reject(new Error(chooseAgain))
	}, onerror() {
		// It did not come: all is done without.
		worker = null
		digests.splice(0).forEach(({resolve}) => resolve())
	}})
	worker.postMessage(file)
	return new Promise((resolve, reject) => { digests.push({resolve, reject}) })
}

// `known`: an earlier page's folder.
export async function upload(source, target, known) {
	const batch = {size: 0}, trees = new Map([[known?.handle, known]])
	let isRefused
	try {
		for await (const {file, path, handle, folder, root} of source) {
			const tree = root && await once(trees, root, () => records.putTree(root, target).catch(() => null))
			if (folder) await lasting(() => ensureFolder(target, folder.split("/"))).catch(error => {
				if (mayPass(error)) throw error
				if (!isRefused) fail(error)
				isRefused = true
			})
			else if (!known?.done.has(path)) {
				const steps = path.split("/")
				batch.size++
				add({file, name: steps.pop(), size: file.size, target, folder: steps, batch, handle, tree, path})
			}
		}
	} catch (error) {
		fail(error)
		// What may pass, the next page tries again.
		if (error.name === "NotAllowedError" || mayPass(error)) return
	}
	for (const tree of trees.values()) leave({tree: await tree})
}

function leave({tree, path}) {
	if (!tree) return
	if (path) records.mark(tree, path)
	tree.left--
	if (!tree.left) records.remove(tree)
}

function add(item) {
	item.key = records.keyOf(item)
	const known = byKey.get(item.key)
	if (known?.state === "paused") resume(known)
	if (known && isActive(known)) return
	// Chosen again, it takes the place of its line.
	if (known && isMissing(known)) forget(known)
	if (item.tree) item.tree.left++
	keep(item, {state: "waiting", sent: 0})
	pump()
}

function keep(item, rest) {
	items.push(Object.assign(item, {tries: 0, ...rest}))
	byKey.set(item.key, item)
}

function forget(item) {
	items.splice(items.indexOf(item), 1)
	byKey.delete(item.key)
	item.row?.remove()
	first = 0
}

const folderHref = (target, steps) => target + steps.map(step => encodeName(step) + "/").join("")

function once(known, key, work) {
	if (!known.has(key)) known.set(key, work())
	return known.get(key)
}

const folders = new Map()
function ensureFolder(target, steps) {
	if (!steps.length) return Promise.resolve()
	const href = folderHref(target, steps)
	return once(folders, href, () => ensureFolder(target, steps.slice(0, -1)).then(() => makeFolder(href)).then(() => {
		contents.set(href, undefined)
		if (target === app.href) touch(steps[0])
	}, error => {
		if (error.status !== 405) throw error
		// A file has no such address.
		return request("HEAD", address(href)).catch(error => {
			throw mayPass(error) ? error : new Error(sayTaken(nameOf(href)))
		})
	}).catch(error => {
		if (mayPass(error)) folders.delete(href)
		throw error
	}))
}

// Null where it may not be seen, undefined where it is new.
const contents = new Map()
const contentsOf = href => once(contents, href, () => readFolder(href).then(one => (one.may("read") ? one : null), () => null))

function pump() {
	keepAwake(isBusy())
	while (running < parallel) {
		while (items[first] && items[first].state !== "waiting") first++
		const next = items[first]
		if (!next) break
		running++
		next.state = "sending"
		start(next).finally(() => {
			running--
			pump()
		})
	}
	if (!isBusy()) {
		folders.clear()
		contents.clear()
	}
	drawSoon()
}

async function start(item) {
	const {signal} = item.abort = new AbortController()
	item.samples = []
	try {
		if (item.size > (info.maxUploadSize ?? Infinity)) throw new ApiError(413)
		const folder = folderHref(item.target, item.folder)
		item.href ??= folder + encodeName(item.name)
		await ensureFolder(item.target, item.folder)
		const {file} = item
		item.local ??= () => item.digest ??= hashOf(file)
		const hasCome = records.get(item)
		if (!item.conflict && (item.isTaken || !hasCome)) {
			const listing = await contentsOf(folder)
			item.isBlind = item.isTaken && listing === null
			if (!await settle(item, listing, signal)) return
			// Where nobody may look: names beside, soon at random.
			if (item.isBlind && hasCome) item.conflict = "keep"
			else if (item.isBlind) item.href = childOf(folder, numbered(item.name, item.tries < 5 ? item.tries + 1 : Math.ceil(Math.random() * 10 ** item.tries)))
		}
		if (signal.aborted) return
		const answer = await deliver(item)
		if (item.conflict === "keep") item.href = new URL(answer.headers.get("Content-Location"), location).pathname.slice(base.length)
		records.remove(item);
		(await contentsOf(folder))?.add([{name: nameOf(item.href), size: item.size, modified: file.lastModified, etag: tagOf(answer)}])
		if (item.target === app.href) touch(item.folder[0] ?? nameOf(item.href))
		item.state = "verifying"
		verify(item, answer)
	} catch (error) {
		const {status} = error
		if (signal.aborted) return
		if ([409, 412].includes(status) && (item.tries++ < 3 || item.isBlind && item.tries < mostTries)) {
			// The name is taken, or the folder has gone.
			contents.delete(parentOf(item.href))
			folders.clear()
			item.conflict = null
			item.isTaken = true
			// Any question is about the name that was wanted.
			if (!records.get(item)) item.href = null
			wake(item)
		} else if (mayPass(error)) {
			// A file that has changed is told like a lost connection.
			const isSame = await item.file.slice(0, 1).arrayBuffer().catch(() => false)
			if (signal.aborted) return
			if (isSame) backOff(item, error)
			else finish(item, "failed", chooseAgain)
		} else finish(item, "failed", joined(error.message, status === 413 && info.maxUploadSize && formatSize(info.maxUploadSize)))
	}
}

async function deliver(item) {
	const report = sent => {
		if (sent > item.sent) item.tries = 0
		item.sent = sent
		drawSoon()
	}
	if (item.size >= resumableFrom) {
		item.local().catch(() => {})
		return sendResumable(item, report)
	}
	return send("PUT", address(item.href), {headers: {...wantDigest, "X-OC-Mtime": item.file.lastModified / 1000,
		...conditionOf(item)}, body: item.file, report, signal: item.abort.signal})
}

const digestThere = (href, signal) => request("HEAD", address(href), {headers: wantDigest, signal}).then(digestOf, () => null)

let asking = Promise.resolve()

// False: nothing is sent yet; others go on while a question waits.
async function settle(item, listing, signal) {
	const theirs = listing?.get(nameOf(item.href))
	if (!theirs) return true
	const mayReplace = !theirs.isFolder && listing.may("overwrite")
	const digest = theirs.size === item.size && await digestThere(theirs.href, signal), isSame = digest && digest === await item.local()
	if (signal.aborted) return false
	if (isSame) return finish(item, "skipped", t("identical, already there"))
	item.tag = theirs.etag
	const {batch} = item, folder = parentOf(theirs.href), ours = {...item, kind: kindOf(item.name), modified: item.file.lastModified}
	const heed = answer => {
		if (answer === "skip") return finish(item, "skipped", t("skipped"))
		item.conflict = mayReplace ? answer : "keep"
		if (item.conflict === "keep" && !records.get(item)) {
			const name = listing.freeName(item.name, false)
			listing.add([{name}])
			item.href = childOf(folder, name)
			item.conflict = "fail"
		}
		return true
	}
	if (batch.policy) return heed(batch.policy)
	item.state = "asking"
	asking = asking.then(async () => {
		if (!signal.aborted && heed(batch.policy ?? await askConflict(batch, {ours, theirs, folder, mayReplace}))) wake(item)
	}).catch(fail)
	return false
}

async function verify(item, answer) {
	try {
		const there = digestOf(answer) ?? await digestThere(item.href), ours = there && await item.local()
		if (!ours) finish(item, "done", t("uploaded"))
		else if (there === ours) finish(item, "done", t("uploaded and verified ✓"))
		else {
			item.conflict = "replace"
			item.tag = tagOf(answer)
			finish(item, "failed", t("arrived damaged: try again"))
		}
	} catch (error) {
		finish(item, "failed", error.message)
	}
}

function finish(item, state, message) {
	Object.assign(item, {state, message})
	if (state === "skipped") discard(item)
	if (state === "done") done++
	if (state !== "failed") {
		item.file = item.local = null
		item.sent = item.size
		leave(item)
	}
	if (!isBusy() && !items.some(among("verifying"))) {
		const failed = items.filter(hasFailed).length
		if (failed) toast(sayFailed(failed), {kind: "bad"})
		else if (done) toast(sayDone(done), {seconds: 5})
		done = 0
	}
	drawSoon()
	return false
}

const sayDone = n => t("{n} file{s} uploaded", {n}), sayFailed = n => t("{n} file{s} could not be uploaded", {n})

const mayPass = ({status}) => [0, 423, 429].includes(status) || status >= 500 && status !== 507
const pauseAfter = tries => Math.min(30, 2 ** (tries - 1)) * (750 + Math.random() * 500), mostTries = 12

async function lasting(work, tries = 1) {
	try {
		return await work()
	} catch (error) {
		if (!mayPass(error) || tries > mostTries) throw error
		await after(pauseAfter(tries))
		return lasting(work, tries + 1)
	}
}

function backOff(item, error) {
	item.tries++
	if (item.tries > mostTries) return finish(item, "failed", error.message)
	item.state = "retrying"
	item.message = error.message
	item.timer = setTimeout(wake, pauseAfter(item.tries), item)
	return drawSoon()
}

function wake(item) {
	clearTimeout(item.timer)
	item.state = "waiting"
	first = 0
	pump()
}

addEventListener("online", () => {
	for (const item of items) if (item.state === "retrying" || mayRetry(item)) resume(item)
})

function stop(item, state) {
	clearTimeout(item.timer)
	item.state = state
	item.abort?.abort()
}

const pause = item => stop(item, "paused")

function resume(item) {
	item.tries = 0
	folders.clear();
	(isMissing(item) ? findAgain : wake)(item)
}

function cancel(item) {
	stop(item, "cancelled")
	discard(item)
	leave(item)
	forget(item)
	pump()
}

function discard({key}) {
	for (const record of Object.values(records.all())) {
		if (!record.url || record.key !== key && record.tree !== key) continue
		request("DELETE", record.url, {headers: tusVersion}).catch(() => {})
		records.remove(record)
	}
}

const mayRead = async (handle, asked) => handle && (await handle[asked]?.({mode: "read"}) ?? "granted") === "granted"

// What other pages have; one that has gone says nothing.
const pages = new BroadcastChannel("shareserve"), theirs = new Set()
pages.onmessage = ({data}) => {
	if (data) theirs.add(data)
	else for (const key in records.all()) if (byKey.has(key)) pages.postMessage(key)
}

export async function restore() {
	pages.postMessage(null)
	await after(1000)
	const all = records.all()
	for (const record of Object.values(all)) {
		if (!record.url) records.takeTree(record).then(tree => tree && wait({...record, tree, handle: tree.handle, name: tree.handle.name, folder: []}))
		// Those of a folder come with it.
		else if (!all[record.tree] && !theirs.has(record.key)) {
			const sent = await offsetOf(record).catch(() => null)
			if (sent !== null) await wait({...record, tree: null, sent, handle: await records.handle(record)})
		}
	}
}

async function wait(item) {
	if (byKey.has(item.key)) return
	keep(item, {batch: {size: 1}, state: "missing", message: item.handle ? t("Paused") : chooseAgain})
	if (await mayRead(item.handle, "queryPermission")) await findAgain(item)
	drawSoon()
}

async function findAgain(item) {
	const use = file => {
		if (records.keyOf({...item, name: file.name, size: file.size, file}) !== item.key) return toast(t("This is another file"), {kind: "bad"})
		item.file = file
		return wake(item)
	}
	const {handle, tree, target} = item
	// WebKit forgets a field that nothing holds.
	if (!handle) return (item.field = h("input", {type: "file", onchange: event => use(event.target.files[0])})).click()
	try {
		if (!await mayRead(handle, "requestPermission")) return
		if (!tree) return use(await handle.getFile())
		forget(item)
		upload(sources.handles([handle]), target, tree)
	} catch (error) {
		fail(error)
	}
}

app.uploads = items

const title = h("h2"), about = h("p.about")
const total = h("progress", {max: 1}), list = h("ol")
const controls = [[t("Pause"), t("Pause all"), "pause", pause, mayPause], [t("Retry"), t("Retry all"), "retry", resume, mayRetry],
	[t("Resume"), t("Resume all"), "play", resume, mayResume, item => mayResume(item) && (item.file || item.handle)],
	[t("Cancel"), t("Cancel all"), "close", cancel, mayCancel]]
const control = (label, iconName, work, which, chosen) => Object.assign(iconButton(label, iconName, () => {
	chosen().filter(which).forEach(work)
	draw()
	holdFocus()
}), {which})
const all = controls.map(([, label, iconName, work, which, ofAll = which]) => control(label, iconName, work, ofAll, () => items))
const hide = iconButton(t("Close"), "close", () => {
	items.filter(hasFailed).forEach(leave)
	items.filter(isOver).forEach(forget)
	draw()
	holdFocus()
})
const panel = h("section.transfers", {hidden: true}, h("header", h("div.line", title, all, hide), total, about), list)
document.body.append(panel)

function speedOf(holder, sent) {
	const now = performance.now()
	holder.samples.push([now, sent])
	while (holder.samples.length > 2 && now - holder.samples[0][0] > 6000) holder.samples.shift()
	const [[since, before]] = holder.samples
	holder.speed = now > since ? Math.max(0, (sent - before) * 1000 / (now - since)) : 0
	return holder.speed && formatSize(holder.speed) + "/s"
}

const together = {samples: []}
let drawing

function drawSoon() {
	drawing ??= setTimeout(draw, 150)
}

const rank = {failed: 1, missing: 1, paused: 2, waiting: 3, done: 4, skipped: 4}

function draw() {
	clearTimeout(drawing)
	drawing = null
	const at = document.activeElement, counted = items.filter(item => !isMissing(item)), open = counted.filter(item => !isOver(item)).length
	const failed = items.filter(hasFailed).length, busy = isBusy(), bytes = counted.reduce((sum, item) => sum + item.size, 0)
	const sent = counted.reduce((sum, item) => sum + item.sent, 0)
	const share = bytes ? sent / bytes : open ? 0 : 1
	if (!busy) together.samples = []
	const speed = busy && speedOf(together, sent)
	panel.hidden = !items.length
	panel.ariaLabel = total.ariaLabel = title.textContent = open ? t("Uploading {done} of {n}", {n: counted.length, done: counted.length - open}) : failed ? sayFailed(failed)
		: counted.length ? sayDone(items.filter(among("done")).length) : t("Unfinished uploads")
	total.hidden = about.hidden = !counted.length
	total.value = share
	about.textContent = joined(formatShare(share), `${formatSize(sent)} / ${formatSize(bytes)}`, speed,
		speed && share < 1 && t("ready {time}", {time: formatUntil((bytes - sent) / together.speed)}))
	for (const one of all) one.hidden = !items.some(one.which)
	hide.hidden = open > 0 || counted.length < items.length
	const seen = new Set([...items].sort((a, b) => (rank[a.state] ?? 0) - (rank[b.state] ?? 0)).slice(0, 60))
	for (const item of items) if (item.row && !seen.has(item)) item.row = item.row.remove();
	[...seen].map(drawItem).forEach((row, i) => { if (list.children[i] !== row) list.insertBefore(row, list.children[i] ?? null) })
	if (panel.contains(at)) holdFocus(at.parentNode)
	showProgress(busy ? formatShare(share) : "", share)
	if (busy) drawing = setTimeout(draw, 400)
}

function drawItem(item) {
	const name = shown([...item.folder, item.name].join("/"))
	item.row ??= h("li", h("span.what", h("bdi", name)), h("span.how"), h("span.buttons", controls.map(([label, , iconName, work, which]) =>
		control(`${label}: ${name}`, iconName, work, which, () => [item]))), h("progress", {max: 1, label: name}))
	const [, how, buttons, bar] = item.row.children, {state, message} = item, share = item.size ? item.sent / item.size : 0
	item.row.className = state
	bar.value = share
	bar.hidden = isOver(item)
	how.textContent = isOver(item) || isMissing(item) ? joined(item.size >= 0 && formatSize(item.size), message)
		: state === "sending" ? joined(formatShare(share), formatSize(item.size), speedOf(item, item.sent))
			: state === "retrying" ? joined(t("Waiting for the connection"), message) : {paused: t("Paused"), verifying: t("Verifying")}[state] ?? t("Waiting")
	for (const one of buttons.children) one.hidden = !one.which(item)
	return item.row
}

const favicon = document.querySelector("link[rel=icon]"), plainIcon = favicon.href

function showProgress(percent, share) {
	const prefix = percent && percent + " · "
	if (prefix === app.titlePrefix) return
	app.titlePrefix = prefix
	document.title = prefix + app.folderTitle
	favicon.href = percent ? plainIcon.replace("fill", `fill='%238884' stroke-width='5' pathLength='1' stroke-dasharray='${share} 1' stroke`) : plainIcon
}

// What failed or waits would be lost; what is verified has arrived.
holdPage(() => items.some(({file, state}) => file && state !== "verifying"))
let awake = false, lock

function keepAwake(wanted) {
	if (wanted === awake) return
	awake = wanted
	if (wanted) holdLock()
	else lock?.release().catch(() => {})
}

// A page out of sight loses the lock.
async function holdLock() {
	lock = await navigator.wakeLock?.request("screen").catch(() => null)
}
addEventListener("visibilitychange", () => { if (awake && !document.hidden) holdLock() })
