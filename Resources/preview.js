// What is shown is never run.

import {address, app, boxOf, bring, button, claim, confirm, decodeName, encodeName, fail, formatSize, h, holdFocus, holdPage, icon, iconButton, info, list, parentOf, placeToasts, request, save, shown, t, tagOf, tried} from "./app.js"

const textLimit = 2_000_000, title = h("h2", {id: "preview-title"}), about = h("span.about"), extra = h("span.tools"), stage = h("div.stage")
const previous = iconButton(t("Previous"), "back", () => walk(-1)), next = iconButton(t("Next"), "next", () => walk(1))
const load = () => save(entry.href, "download")
const box = h("dialog.preview", {tabIndex: -1, closedBy: "none", "aria-labelledby": title.id, onkeydown: pressed, oncancel: event => {
	claim(event)
	close()
}}, h("div.preview-head", title, about, extra, previous, next, iconButton(t("Download"), "download", load), iconButton(t("Close"), "close", () => close())), stage)
document.body.append(box)

let entry = null, abort, editor, zoom
// Back leads to the folder.
let pushed

const hashOf = one => `${address(parentOf(one.href))}#view=${encodeName(one.name)}`
const siblings = () => app.listing.visible.filter(one => !one.isFolder)
const mayLeave = async () => !editor?.isChanged() || confirm(t("Unsaved changes"), shown(entry.name), t("Discard changes"))

export function openPreview(one, {edit, fromAddress} = {}) {
	if (!box.open) {
		pushed = !fromAddress
		if (pushed) history.pushState({scroll: scrollY}, "", hashOf(one))
		box.showModal()
	}
	show(one, edit)
}

// True when that was the preview's business.
app.onAddress = () => {
	if (!box.open) return false
	const name = /^#view=(.*)$/.exec(location.hash)?.[1], one = name && app.listing.get(decodeName(name))
	if (one) show(one)
	else close(false)
	return true
}

holdPage(() => editor?.isChanged())

app.onRemoteChange = names => { if (names.includes(entry?.name)) editor?.checkRemote() }

async function show(one, edit) {
	if (entry === one || !await mayLeave()) return
	stop()
	entry = one
	abort = new AbortController()
	// WebKit takes a hundred in ten seconds.
	if (location.hash.startsWith("#view=")) tried(() => history.replaceState(history.state, "", hashOf(entry)))
	title.textContent = shown(entry.name)
	about.textContent = formatSize(Math.max(0, entry.size))
	const at = siblings().indexOf(entry)
	previous.disabled = at <= 0
	next.disabled = at < 0 || at === siblings().length - 1
	extra.replaceChildren()
	stage.className = "stage"
	await draw(edit)
}

async function draw(edit, isAsked) {
	stage.replaceChildren()
	holdFocus()
	try {
		await fill(entry.kind, address(entry.href), edit, isAsked)
	} catch (error) {
		if (error.name !== "AbortError") card(error.message)
	}
}

async function fill(kind, src, edit, isAsked) {
	if (info.counted) await request("HEAD", src, {signal: abort.signal})
	if (info.counted && !isAsked) return card(t("A preview counts as a download."), button(t("Preview"), "eye", () => draw(edit, true)))
	const one = entry, onerror = () => entry === one && card()
	if (kind === "text" || kind === "markdown" || edit) return text(edit)
	if (kind === "pdf") return pdf(src)
	if (kind === "video" || kind === "audio") return stage.append(h(kind, {controls: true, preload: "metadata", src, playsInline: true, onerror}))
	if (kind !== "image") return card()
	const image = h("img", {alt: shown(entry.name), src: src + "?" + entry.modified, draggable: false, onerror})
	zoom = zoomer(image)
	extra.append(iconButton(t("Zoom out"), "zoom-out", () => zoom(1 / 1.5)), iconButton(t("Zoom in"), "zoom-in", () => zoom(1.5)))
	return stage.append(image)
}

function card(words = t("No preview for this kind of file"), more = entry.size <= textLimit && button(t("Show as text"), "text", () => text().catch(fail))) {
	stage.replaceChildren(h("div.state", icon(entry.kind), h("p", words), button(t("Download"), "download", load, {kind: "primary"}), more))
}

// In a frame: the server allows that for PDF alone.
async function pdf(src) {
	if (!navigator.pdfViewerEnabled) return card()
	await request("HEAD", src, {signal: abort.signal})
	return stage.append(h("iframe", {src: src + "?view", title: shown(entry.name)}))
}

async function text(edit) {
	const one = entry, whole = one.size <= textLimit
	const answer = await request("GET", address(one.href), {signal: abort.signal, headers: whole ? {} : {Range: "bytes=0-199999"}})
	const bytes = new Uint8Array(await answer.arrayBuffer()), {openEditor} = await bring("text")
	if (entry !== one) return
	stage.classList.add("scroll")
	editor = openEditor(one, bytes, {etag: tagOf(answer), whole, edit, extra, stage})
}

function walk(step) {
	const one = siblings()[siblings().indexOf(entry) + step]
	if (one) show(one)
}

function pressed(event) {
	event.stopPropagation()
	if (event.isComposing || event.key !== "Escape" && event.target.matches("textarea, video, audio") || event.ctrlKey || event.metaKey || event.altKey) return
	const forward = document.dir === "rtl" ? -1 : 1
	const work = {Escape: close, ArrowRight: () => walk(forward), ArrowLeft: () => walk(-forward), "+": () => zoom?.(1.5), "=": () => zoom?.(1.5),
		"-": () => zoom?.(1 / 1.5), 0: () => zoom?.(0)}[event.key]
	if (!work) return
	claim(event)
	work()
}

function stop() {
	abort?.abort()
	editor = zoom = null
}

async function close(goBack = true) {
	const last = entry
	if (!await mayLeave()) {
		if (!goBack) history.pushState(history.state, "", hashOf(last))
		return
	}
	stop()
	entry = null
	stage.replaceChildren()
	placeToasts()
	box.close()
	if (goBack && pushed) history.back()
	else if (goBack) history.replaceState(history.state, "", location.pathname)
	if (app.listing.visible.includes(last)) list.focusEntry(last.name)
}

function zoomer(image) {
	let scale = 1
	const by = (factor, event) => {
		const {x, y, width, height} = boxOf(stage), {clientX = x + width / 2, clientY = y + height / 2} = event ?? {}, old = boxOf(image)
		const wanted = Math.max(1, Math.min(16, scale * factor)), grown = wanted / scale
		scale = wanted
		image.style.width = scale > 1 ? old.width * grown + "px" : ""
		image.style.maxWidth = image.style.maxHeight = scale > 1 ? "none" : ""
		const now = boxOf(image)
		stage.scrollBy(now.x + (clientX - old.x) * grown - clientX, now.y + (clientY - old.y) * grown - clientY)
	}
	image.onwheel = event => {
		claim(event)
		by(Math.exp(-event.deltaY / 400), event)
	}
	image.ondblclick = event => by(scale > 1 ? 0 : 2.5, event)
	image.onpointermove = event => {
		if (event.buttons === 1 && event.pointerType === "mouse") stage.scrollBy(-event.movementX, -event.movementY)
	}
	return by
}
