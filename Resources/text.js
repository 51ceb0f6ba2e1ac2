// Text, saved over the version read. Markdown becomes elements, never markup.

import {address, app, button, childOf, claim, fail, formatSize, h, holdFocus, info, joined, nameOf, parentOf, readFolder, refresh, request, shown, t, tagOf, toast, tried} from "./app.js"

const lineEnd = /\r\n?|\n/g

// A field knows one line end: what is unchanged gets its own back, the rest the first's.
function withLineEnds(value, text) {
	const ends = text.match(lineEnd) ?? [], old = text.split(lineEnd), now = value.split("\n"), most = Math.min(old.length, now.length)
	let first = 0, last = 0
	while (first < most && old[first] === now[first]) first++
	while (last < most - first && old.at(-1 - last) === now.at(-1 - last)) last++
	const endOf = i => ends[i < first ? i : i < now.length - last ? 0 : i + old.length - now.length] ?? ends[0] ?? "\n"
	return now.map((line, i) => (i ? endOf(i - 1) : "") + line).join("")
}

const decode = (bytes, fatal) => new TextDecoder("utf-8", {fatal, ignoreBOM: true}).decode(bytes)

// It stays in the text, and out of the field.
const mark = /^\ufeff?/

const fieldOf = text => text.replace(mark, "").replace(lineEnd, "\n")

export function openEditor(entry, bytes, {etag, whole, extra, stage, edit}) {
	const wide = {0xfffe: "utf-16le", 0xfeff: "utf-16be"}[bytes[0] << 8 | bytes[1]]
	let text = tried(() => decode(bytes, whole || wide))
	if (text === null) {
		text = new TextDecoder(wide ?? "windows-1252").decode(bytes)
		whole = false
	}
	const isMarkdown = entry.kind === "markdown", writable = whole && app.listing.may("overwrite")
	let saved = fieldOf(text), rendered
	folder = address(parentOf(entry.href))
	const isChanged = () => area.value !== saved
	const update = () => {
		saveButton.disabled = !isChanged()
		holdFocus()
	}
	const saveButton = button(t("Save"), "check", () => save(), {kind: "primary", hidden: !writable, disabled: true})
	const mode = button("", "rename", () => setMode(!rendered), {hidden: !isMarkdown})
	const notice = h("div.notice", {role: "alert", hidden: whole}, joined(t("Read-only"), bytes.length < entry.size && `${formatSize(bytes.length)} / ${formatSize(entry.size)}`))
	const area = h("textarea", {value: saved, readOnly: !writable, spellcheck: isMarkdown, label: shown(entry.name), oninput: update, onkeydown: event => {
		if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "s") return
		claim(event)
		if (writable) save()
	}})

	function setMode(wanted) {
		rendered = wanted
		mode.lastChild.textContent = t(rendered ? "Edit" : "Preview")
		if (!rendered) {
			stage.replaceChildren(h("div.editor", notice, area))
			return area.setSelectionRange(0, 0)
		}
		return stage.replaceChildren(h("article.markdown", {tabIndex: 0}, render(area.value)))
	}

	// In turn: each goes by the ETag of the one before.
	let turn
	const inTurn = work => (...how) => (turn = Promise.resolve(turn).then(() => work(...how)))

	const save = inTurn(async (headers = etag ? {"If-Match": etag} : {}, href = entry.href) => {
		const {value} = area, body = withLineEnds(mark.exec(text) + value, text)
		try {
			const answer = await request("PUT", address(href), {headers, body})
			if (href === entry.href) etag = tagOf(answer)
			notice.hidden = true
			saved = value
			text = body
			update()
			toast(t("Saved"), {seconds: 4})
			await refresh()
			// A search knows paths, and nothing new.
			if (href !== entry.href) app.openEntry((app.listing.isSearch ? await readFolder(parentOf(href)) : app.listing).get(nameOf(href)), {edit: true})
		} catch (error) {
			if (error.status === 412) conflict(await tagNow())
			else fail(error)
		}
	})

	async function saveCopy() {
		const folder = parentOf(entry.href), name = (await readFolder(folder)).freeName(entry.name)
		await save({"If-None-Match": "*"}, childOf(folder, name))
	}

	const tagNow = () => request("HEAD", address(entry.href)).then(tagOf, ({status}) => status !== 404 && etag)

	// Of what is gone, the copy takes the name.
	function conflict(there = etag) {
		const hidden = !there
		notice.hidden = false
		notice.replaceChildren(h("span", t(there ? "Somebody else changed this file. Nothing of yours is lost." : "It is not there any more")),
			button(t("Load theirs"), null, () => reload(true).catch(fail), {hidden}), button(t("Overwrite with mine"), null, () => save({}), {kind: "danger", hidden}),
			button(t(there ? "Save mine as a copy" : "Save"), null, () => saveCopy().catch(fail)))
	}

	const checkRemote = inTurn(async () => {
		const now = await tagNow()
		if (!whole || now === etag) return
		if (isChanged() || writable && !now) conflict(now)
		else await reload().catch(fail)
	})

	async function reload(isAsked) {
		const answer = await request("GET", address(entry.href)), now = await answer.arrayBuffer()
		if (!isAsked && isChanged()) return conflict()
		text = decode(now, true)
		etag = tagOf(answer)
		area.value = saved = fieldOf(text)
		notice.hidden = true
		update()
		if (rendered) setMode(true)
	}

	extra.append(mode, saveButton)
	setMode(isMarkdown && !edit)
	if (edit) area.focus()
	return {isChanged, checkRemote}
}

let folder

function safeAddress(target) {
	const url = URL.parse?.(target, location.origin + folder)
	return url && ["http:", "https:", "mailto:"].includes(url.protocol) ? url : null
}

const link = (href, ...content) => h("a", {href, rel: "noreferrer", target: "_blank"}, content)

// No rule repeats what repeats: some texts would take minutes.
const inlineRules = [
	[/`([^`]+)`/g, ([, code]) => h("code", code)],
	[/(!?)\[([^[\]]*)\]\(([^[)\s]+)(?:\s[^[)]*)?\)/g, ([, isPicture, text, target]) => {
		const url = safeAddress(target)
		if (isPicture) return url?.origin === location.origin && !info.counted ? h("img", {alt: text, src: url.href, loading: "lazy"}) : text
		return url ? link(url.href, inline(text)) : text
	}],
	[/<?(https?:\/\/[^\s<>)]+)>?/g, ([, href]) => link(href, href)],
	[/(\*\*|__)(.+?)\1/g, ([, , text]) => h("strong", inline(text))],
	[/\*([^*\s][^*]*)\*|\b_([^_]+)_\b/g, ([, star, line]) => h("em", inline(star ?? line))],
	[/~~(.+?)~~/g, ([, text]) => h("del", inline(text))],
]

function inline(text) {
	const parts = [], ahead = new Map()
	for (let at = 0;;) {
		let first
		for (const [pattern, make] of inlineRules) {
			// A find stays until it lies behind; null: nothing more.
			let match = ahead.get(pattern)
			if (match === undefined || match?.index < at) {
				pattern.lastIndex = at
				ahead.set(pattern, match = pattern.exec(text))
			}
			if (match && !(first?.match.index <= match.index)) first = {match, make}
		}
		parts.push(text.slice(at, first?.match.index))
		if (!first) return parts
		at = first.match.index + first.match[0].length
		parts.push(first.make(first.match))
	}
}

const item = /^(\s*)([-*+]|\d+[.)]) /, rule = /^([-*_])( *\1){2,} *$/
const cells = (line, tag) => h("tr", line.trim().replace(/^\||\|$/g, "").split("|").map(cell => h(tag, inline(cell.trim()))))

// No browser nests without end.
const deepest = 50

function render(text, depth = 0) {
	const lines = text.split("\n"), blocks = []
	let at = 0
	const take = test => {
		const from = at
		while (at < lines.length && test(lines[at])) at++
		return lines.slice(from, at)
	}
	while (at < lines.length) {
		const line = lines[at], [, level, title] = /^(#{1,6}) +(.*[^#]|)#*$/s.exec(line) ?? []
		if (level || rule.test(line) || !line.trim()) {
			if (line.trim()) blocks.push(level ? h("h" + level.length, inline(title)) : h("hr"))
			at++
		} else if (/^(```|~~~)/.test(line)) {
			at++
			blocks.push(h("pre", {tabIndex: 0}, h("code", take(one => !one.startsWith(line.slice(0, 3))).join("\n"))))
			at++
		} else if (depth < deepest && line.startsWith(">")) {
			blocks.push(h("blockquote", render(take(one => one.startsWith(">")).map(one => one.replace(/^> ?/, "")).join("\n"), depth + 1)))
		} else if (depth < deepest && item.test(line)) {
			const indent = item.exec(line)[1].length, items = []
			while (at < lines.length && item.exec(lines[at])?.[1].length <= indent) {
				const own = lines[at].replace(item, "")
				at++
				const below = take(one => one.trim() && /^\s*/.exec(one)[0].length > indent)
				items.push(h("li", inline(own), below.length ? render(below.map(one => one.slice(indent + 1)).join("\n"), depth + 1) : null))
			}
			blocks.push(h(/^\s*\d/.test(line) ? "ol" : "ul", items))
		} else if (line.includes("|") && /^[\s|:-]*$/.test(lines[at + 1]) && lines[at + 1].includes("-")) {
			at += 2
			blocks.push(h("table", cells(line, "th"), take(one => one.includes("|")).map(one => cells(one, "td"))))
		} else {
			at++
			const more = take(one => one.trim() && !item.test(one) && !rule.test(one) && !/^(#{1,6} |```|~~~|>)/.test(one))
			blocks.push(h("p", inline([line, ...more].join("\n"))))
		}
	}
	return blocks
}
