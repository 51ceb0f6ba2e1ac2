// Only the rows in sight exist as elements.

const columns = ["name", "size", "modified"]

// Firefox draws nothing below 17.8 million pixels.
const highest = 15e6

class ListView {
	constructor(handlers) {
		Object.assign(this, {handlers, rows: new Map(), focused: 0, anchor: 0, listing: new Listing("/"), view: {}})
		this.all = h("input", {type: "checkbox", label: t("Select all"),
			onchange: () => this.listing.setAll(this.all.checked)})
		const titles = [t("Name"), t("Size"), t("Modified")]
		this.headers = columns.map((column, i) => h("th." + column, {role: "columnheader"},
			h("button", {onclick: () => handlers.sort(column)}, titles[i], icon("up"))))
		this.body = h("tbody", {role: "rowgroup"})
		this.element = h("table.files", {role: "grid", id: "files", label: t("Files"), ariaMultiSelectable: true},
			h("thead", {role: "rowgroup"}, h("tr", {role: "row", ariaRowIndex: 1},
				h("th.check", {role: "columnheader"}, h("label.tick", this.all)), this.headers, h("th.more", {role: "columnheader"}, h("span.quiet", t("Actions"))))),
			this.body)
		const on = (type, work) => this.body.addEventListener(type, event => {
			const row = event.target.closest?.("tr")
			if (row && row !== this.renaming) work.call(this, event, row)
		})
		on("click", this.clicked)
		on("dblclick", (event, row) => event.target.closest("a, button, .tick") || handlers.open(row.entry))
		on("contextmenu", this.contextMenu)
		on("focusin", (_, row) => this.setFocused(row.index))
		on("dragstart", this.dragStarted)
		on("pointerdown", this.pressed)
		on("dragend", () => { this.dragged = null })
		addEventListener("scroll", () => this.layoutSoon())
		new ResizeObserver(() => this.layoutSoon()).observe(document.documentElement)
	}

	show(listing, view) {
		const hadFocus = this.body.matches(":focus-within")
		if (listing !== this.listing) {
			this.listing = listing
			this.focused = this.anchor = 0
			this.clear()
		}
		const before = this.current, pivot = this.listing.visible[this.anchor]
		this.view = view
		listing.arrange(view)
		const {visible} = listing, now = before ? visible.indexOf(before) : -1
		this.anchor = Math.max(0, visible.indexOf(pivot))
		this.focused = now >= 0 ? now : Math.max(0, Math.min(this.focused, visible.length - 1))
		this.element.className = "files " + view.mode
		this.headers.forEach((header, i) => { header.ariaSort = view.sort !== columns[i] ? "none" : view.descending ? "descending" : "ascending" })
		this.element.ariaRowCount = visible.length + 1
		this.layout()
		if (hadFocus && !this.body.matches(":focus-within")) this.setFocused(this.focused, true)
	}

	clear() {
		this.rows.clear()
		this.body.replaceChildren()
	}

	layoutSoon() {
		this.frame ??= requestAnimationFrame(() => {
			this.frame = null
			this.layout()
		})
	}

	// Of the first row in the window. Of too many rows, a pixel scrolls by several.
	measure() {
		const style = getComputedStyle(this.element)
		const length = name => parseFloat(style.getPropertyValue(name)) * parseFloat(getComputedStyle(document.documentElement).fontSize)
		const tiles = this.view.mode === "grid"
		this.perRow = tiles ? Math.max(1, Math.floor(this.body.clientWidth / length("--tile-width"))) : 1
		this.rowHeight = length(tiles ? "--tile-height" : "--row-height")
		const whole = this.rowOf(this.listing.visible.length + this.perRow - 1) * this.rowHeight, height = Math.min(whole, highest)
		this.body.style.height = height + "px"
		const {top} = boxOf(this.body)
		this.stretch = whole > height ? (whole - innerHeight) / (height - innerHeight) : 1
		this.shift = Math.max(0, Math.min(-top, height - innerHeight)) * (this.stretch - 1)
		return top - this.shift
	}

	rowOf(index) {
		return Math.floor(index / this.perRow)
	}

	layout() {
		const top = this.measure(), {visible} = this.listing, first = Math.max(0, Math.floor(-top / this.rowHeight) - 6) * this.perRow
		const last = Math.min(visible.length, (Math.ceil((innerHeight - top) / this.rowHeight) + 6) * this.perRow)
		const wanted = new Set([this.focused])
		for (let index = first; index < last; index++) wanted.add(index)
		const keep = new Set()
		let previous = null
		// Screen readers and the Tab key follow the order of elements.
		for (const index of [...wanted].sort((a, b) => a - b)) {
			const entry = visible[index]
			if (!entry) continue
			const row = this.rowFor(entry)
			keep.add(entry)
			row.index = index
			row.ariaRowIndex = index + 2
			row.tabIndex = index === this.focused ? 0 : -1
			row.style.top = this.rowOf(index) * this.rowHeight - this.shift + "px"
			row.style.insetInlineStart = `${100 * (index % this.perRow) / this.perRow}%`
			row.style.width = `${100 / this.perRow}%`
			const place = () => previous ? previous.nextSibling : this.body.firstChild
			// What moves loses the focus, and a new name is done with.
			if (row.matches(":focus-within")) while (place() !== row) this.body.append(place())
			else if (place() !== row) this.body.insertBefore(row, place())
			previous = row
		}
		for (const [entry, row] of this.rows) {
			if (keep.has(entry)) continue
			row.remove()
			this.rows.delete(entry)
		}
		this.refreshSelection()
	}

	rowFor(entry) {
		const known = this.rows.get(entry)
		if (known && (known.version === entry.version || known === this.renaming)) return known
		const row = this.makeRow(entry)
		this.rows.set(entry, row)
		if (known) {
			const hadFocus = known.matches(":focus-within")
			known.replaceWith(row)
			if (hadFocus) focusOn(row)
		}
		return row
	}

	makeRow(entry) {
		const name = shown(entry.name), cell = (kind, ...content) => h("td." + kind, {role: "gridcell"}, content)
		const row = h("tr." + (entry.isFolder ? "folder" : "file"), {role: "row", draggable: true},
			cell("check", h("label.tick", h("input", {type: "checkbox", tabIndex: -1, label: t("Select {name}", {name})}))),
			cell("name", h("a.open", {href: address(entry.href), title: name, draggable: false, tabIndex: -1}, this.thumbnail(entry), h("bdi", name)),
				this.listing.isSearch && h("span.place", h("bdi", shown(pathOf(parentOf(entry.href))))),
				entry.locked && h("span.badge", icon("lock"), h("span", t("Locked by {name}", {name: entry.locked.owner ?? "?"})))),
			cell("size", entry.size < 0 ? "" : formatSize(entry.size)),
			cell("modified", entry.modified && h("time", {dateTime: new Date(entry.modified).toISOString()}, formatDate(entry.modified))),
			cell("more", iconButton(t("Actions for {name}", {name}), "more", event => {
				event.stopPropagation()
				this.openMenu(row, boxOf(event.currentTarget))
			}, {tabIndex: -1, ariaHasPopup: "menu", title: ""})))
		return Object.assign(row, {entry, version: entry.version})
	}

	thumbnail(entry) {
		const box = h("span.thumb.kind-" + entry.kind, icon(entry.kind))
		if (this.view.mode === "grid" && !info.counted && entry.kind === "image" && entry.size > 0 && entry.size < 3e7) {
			const image = h("img", {alt: "", decoding: "async", draggable: false,
				onload: () => box.classList.add("loaded"), onerror: () => image.remove()})
			setTimeout(() => { if (box.isConnected) image.src = address(entry.href) + "?" + entry.modified }, 120)
			box.append(image)
		}
		return box
	}

	refreshSelection() {
		const {selection, visible} = this.listing
		for (const [entry, row] of this.rows) {
			const selected = selection.has(entry)
			row.ariaSelected = row.querySelector("input").checked = selected
		}
		this.all.checked = selection.size > 0 && selection.size >= visible.length && visible.every(entry => selection.has(entry))
		this.all.indeterminate = selection.size > 0 && !this.all.checked
	}

	clicked(event, row) {
		const {listing} = this
		if (event.target.closest(".tick")) {
			if (event.target.tagName !== "INPUT") return
			if (event.shiftKey) this.selectTo(row.index, event.target.checked)
			else listing.setSelected([row.entry], event.target.checked)
			this.anchor = row.index
			return this.setFocused(row.index)
		}
		const onLink = event.target.closest("a.open"), more = hasCtrl(event), touch = this.pointer === "touch"
		if (onLink || event.shiftKey) claim(event)
		if (this.held) this.held = false
		else if (event.shiftKey) this.selectTo(row.index, true, !more)
		else if (more || touch && listing.selection.size) this.toggle(row.index)
		else if (touch) return this.handlers.open(row.entry)
		else {
			this.anchor = row.index
			if (onLink) return this.handlers.open(row.entry)
			listing.selectOnly([row.entry])
		}
		return this.setFocused(row.index, true)
	}

	openMenu(row, {left, bottom}) {
		this.choose(row)
		this.handlers.menu(left, bottom)
	}

	choose({entry}) {
		if (!this.listing.selection.has(entry)) this.listing.selectOnly([entry])
	}

	contextMenu(event, row) {
		claim(event)
		event.stopPropagation()
		if (this.pointer === "touch") return
		// A scroll would close the menu.
		focusOn(row)
		const box = boxOf(row)
		this.openMenu(row, {left: event.clientX || box.left + 40, bottom: event.clientY || box.bottom})
	}

	pressed(start, row) {
		this.pointer = start.pointerType
		this.held = false
		if (this.pointer !== "touch") return
		const ended = new AbortController()
		const timer = setTimeout(() => {
			this.held = true
			this.toggle(row.index)
		}, 450)
		const stop = event => {
			if (event.type === "pointermove" && Math.hypot(event.clientX - start.clientX, event.clientY - start.clientY) < 10) return
			clearTimeout(timer)
			ended.abort()
		}
		for (const type of ["pointermove", "pointerup", "pointercancel"]) addEventListener(type, stop, {signal: ended.signal})
	}

	dragStarted(event, row) {
		if (this.pointer === "touch" || this.listing.coming !== undefined) return claim(event)
		this.choose(row)
		this.dragged = this.listing.selected
		event.dataTransfer.effectAllowed = "copyMove"
		return event.dataTransfer.setData(internalType, this.dragged.map(({href}) => href).join("\n"))
	}

	folderAt(target) {
		const row = target.closest?.("tr.folder")
		return row && !this.dragged?.includes(row.entry) ? row : null
	}

	toggle(index) {
		const entry = this.listing.visible[index]
		this.anchor = index
		if (entry) this.listing.setSelected([entry], !this.listing.selection.has(entry))
	}

	selectTo(index, selected = true, only = false) {
		const range = this.listing.visible.slice(Math.min(this.anchor, index), Math.max(this.anchor, index) + 1)
		if (only) this.listing.selectOnly(range)
		else this.listing.setSelected(range, selected)
	}

	setFocused(index, move) {
		const {visible} = this.listing
		if (!visible.length) return
		this.focused = Math.max(0, Math.min(visible.length - 1, index))
		this.rows.forEach(row => { row.tabIndex = row.index === this.focused ? 0 : -1 })
		if (!move) return
		for (let i = 0; i < 3; i++) {
			const top = this.measure() + this.rowOf(this.focused) * this.rowHeight, above = top - Math.max(0, boxOf(bar.parentNode).bottom, boxOf(this.element.tHead).bottom)
			const below = top + this.rowHeight - innerHeight + 16 + (document.querySelector(".transfers")?.offsetHeight ?? 0)
			if (above < 0 || below > 0) scrollBy(0, (above < 0 ? above : Math.min(above, below)) / this.stretch)
		}
		this.layout()
		focusOn(this.rows.get(this.current))
	}

	focusEntry(name) {
		const index = this.listing.visible.findIndex(entry => entry.name === name)
		if (index < 0) return
		this.anchor = index
		this.setFocused(index, true)
	}

	get current() {
		return this.listing.visible[this.focused]
	}

	editName(entry, typed = entry.name) {
		this.setFocused(this.listing.visible.indexOf(entry), true)
		const row = this.rows.get(entry), link = row.querySelector("a.open")
		return new Promise(resolve => {
			const finish = name => {
				if (this.renaming !== row) return
				this.renaming = null
				const hadFocus = focused() === input
				input.remove()
				link.hidden = false
				row.draggable = true
				if (hadFocus) focusOn(row)
				this.layout()
				resolve(name?.trim() && name !== entry.name ? name : null)
			}
			const input = textInput({className: "rename", value: typed,
				label: t("New name for {name}", {name: shown(entry.name)}), onblur: () => finish(input.value === typed ? null : input.value), onkeydown: event => {
					event.stopPropagation()
					if (event.isComposing) return
					if (event.key === "Enter") finish(input.value)
					if (event.key === "Escape") finish(null)
				}})
			this.renaming = row
			row.draggable = false
			link.hidden = true
			link.after(input)
			input.focus()
			input.setSelectionRange(0, stemLength(typed, entry.isFolder))
		})
	}
}
