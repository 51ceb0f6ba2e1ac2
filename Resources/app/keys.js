// Letters alone find names.

// Command counts as Ctrl.
const hasCtrl = event => event.ctrlKey || event.metaKey

function keyName(event) {
	const name = event.key.length === 1 ? event.key.toUpperCase() : event.key
	const shift = event.shiftKey && (/^[A-Z]$/.test(name) || name.length > 1)
	return [hasCtrl(event) && "Ctrl", event.altKey && "Alt", shift && "Shift", name].filter(Boolean).join("+")
}

let typed = "", typedAt = 0

function typeAhead(letter) {
	const now = performance.now()
	typed = (now - typedAt > 1000 ? "" : typed) + letter.toLowerCase()
	typedAt = now
	const {visible} = app.listing, from = list.focused + (typed.length === 1 ? 1 : 0)
	for (let i = 0; i < visible.length; i++) {
		const index = (from + i) % visible.length
		if (visible[index].folded.startsWith(typed)) return moveTo(index)
	}
}

function moveTo(index, event = {}) {
	const {listing} = app
	list.setFocused(index, true)
	if (event.shiftKey) return list.selectTo(list.focused, true, true)
	list.anchor = list.focused
	if (!hasCtrl(event) && list.current) listing.selectOnly([list.current])
}

function step(key) {
	const page = list.perRow * Math.max(1, Math.floor(innerHeight / list.rowHeight) - 3)
	const aside = list.perRow > 1 ? (document.dir === "rtl" ? -1 : 1) : NaN
	const by = {ArrowDown: list.perRow, ArrowUp: -list.perRow, ArrowRight: aside, ArrowLeft: -aside, PageDown: page, PageUp: -page,
		Home: -Infinity, End: Infinity}[key]
	// The first arrow goes to the first row.
	if (by > 0 && !focused().matches(":focus-visible") && !app.listing.selection.size && !list.focused && key !== "End") return 0
	return by && list.focused + by
}

const isField = element => element.matches?.("input:not([type=checkbox]), textarea, select")
const isBusy = event => event.defaultPrevented || isField(event.target) || topDialog()

function watchKeys() {
	addEventListener("keydown", event => {
		if (isBusy(event)) return
		const {listing} = app, name = keyName(event), onRow = list.body.contains(event.target)
		const inList = onRow || event.target === document.body, onControl = event.target.closest?.("a, button, input")
		const plain = event.key.length === 1 && !hasCtrl(event) && !event.altKey
		const used = (work, ...values) => {
			claim(event)
			work(...values)
		}
		const target = inList && !event.altKey ? step(event.key) : undefined
		if (target !== undefined && !Number.isNaN(target)) return used(moveTo, target, event)
		if (event.key === " " && onRow && !onControl) return used(() => list.toggle(list.focused))
		if (inList && (event.key === "ContextMenu" || name === "Shift+F10")) return used(menuAtFocus)
		if (event.key === "Enter") return onRow && !onControl && used(app.openEntry, list.current)
		if (plain && !memory.get("letters", true) || /^Ctrl\+[CX]$/.test(name) && getSelection().toString()) return
		// Rows are pasted unless the browser's own paste brings files.
		if (name === "Ctrl+V") pasteTimer = setTimeout(run, 150, action("paste"))
		else if (action(name)) {
			if (needsSelection(action(name)) && !listing.selection.size && onRow) listing.selectOnly([list.current])
			used(run, action(name))
		} else if (plain && inList && event.key !== " ") used(typeAhead, event.key)
	})
}

let pasteTimer

function watchPaste() {
	addEventListener("paste", async event => {
		if (isBusy(event)) return
		clearTimeout(pasteTimer)
		const files = [...event.clipboardData.files], text = event.clipboardData.getData("text")
		if (!files.length && app.clipboard) return run(action("paste"))
		if (!canCreate() || !(files.length || text)) return
		// It may be a secret.
		if (files.length || await confirm(t("Paste"), text.slice(0, 500), t("Paste"))) uploadFrom("clipboard", app.href, files, text)
	})
}
