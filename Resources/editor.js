// Text and code: shown, changed, and saved only over the version that was read.

import {address, app, button, childOf, fail, h, parentOf, request, shown, t, tagOf, toast} from "./app.js"

/** Fills `stage`, and `extra` with the buttons. `whole`: all of the file is in `bytes`. */
export function openEditor(entry, bytes, {etag, whole, extra, stage, edit}) {
	let text
	try {
		text = new TextDecoder("utf-8", {fatal: whole}).decode(bytes)
	} catch {
		text = new TextDecoder("windows-1252").decode(bytes)
		whole = false
	}
	// A field knows one kind of line end; the file gets its own back.
	const lineEnd = text.includes("\r\n") ? "\r\n" : "\n", mark = bytes[0] === 0xef && bytes[1] === 0xbb ? "\ufeff" : ""
	const isMarkdown = entry.kind === "markdown", writable = whole && app.listing.may("overwrite")
	let saved = text.replaceAll("\r\n", "\n"), rendered
	const isChanged = () => area.value !== saved
	const refresh = () => { saveButton.disabled = !isChanged() }
	const saveButton = button(t("Save"), "check", () => save(), {kind: "primary", hidden: !writable, disabled: true})
	const mode = button("", "rename", () => setMode(!rendered), {hidden: !isMarkdown})
	const notice = h("div.notice", {role: "alert", hidden: whole}, t("Shown to read only"))
	const area = h("textarea", {value: saved, readOnly: !writable, spellcheck: isMarkdown, label: shown(entry.name), oninput: refresh, onkeydown: event => {
		if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "s") return
		event.preventDefault()
		save()
	}})
	const leaving = event => { if (isChanged()) event.preventDefault() }

	async function setMode(wanted) {
		rendered = wanted
		mode.lastChild.textContent = rendered ? t("Edit") : t("Preview")
		if (!rendered) {
			stage.replaceChildren(h("div.editor", notice, area))
			return area.setSelectionRange(0, 0)
		}
		const {render} = await import("./markdown.js")
		return stage.replaceChildren(h("article.markdown", {tabIndex: 0}, render(area.value, address(parentOf(entry.href)))))
	}

	async function save(headers = etag ? {"If-Match": etag} : {}, href = entry.href) {
		const {value} = area
		try {
			const answer = await request("PUT", address(href), {headers, body: mark + value.replaceAll("\n", lineEnd)})
			if (href === entry.href) etag = tagOf(answer)
			notice.hidden = true
			saved = value
			refresh()
			toast(t("Saved"), {seconds: 4})
			await app.refresh()
		} catch (error) {
			if (error.status === 412) conflict()
			else fail(error)
		}
	}

	function conflict() {
		const beside = childOf(parentOf(entry.href), app.listing.freeName(entry.name, false))
		notice.hidden = false
		notice.replaceChildren(h("span", t("Somebody else changed this file. Nothing of yours is lost.")), button(t("Load theirs"), null, () => reload().catch(fail)),
			button(t("Overwrite with mine"), null, () => save({}), {kind: "danger"}),
			button(t("Save mine as a copy"), null, () => save({"If-None-Match": "*"}, beside)))
	}

	async function checkRemote() {
		const now = await request("HEAD", address(entry.href)).then(tagOf, () => etag)
		if (now === etag) return
		if (isChanged()) conflict()
		else await reload().catch(fail)
	}

	async function reload() {
		const answer = await request("GET", address(entry.href))
		etag = tagOf(answer)
		area.value = saved = (await answer.text()).replaceAll("\r\n", "\n")
		notice.hidden = true
		refresh()
		if (rendered) setMode(true)
	}

	extra.append(mode, saveButton)
	addEventListener("beforeunload", leaving)
	setMode(isMarkdown && !edit)
	if (edit) area.focus()
	return {isChanged, checkRemote, stop: () => removeEventListener("beforeunload", leaving)}
}
