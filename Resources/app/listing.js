const collator = new Intl.Collator(boot.language, {numeric: true, sensitivity: "base"})

// More names go by prepared keys.
const collatedNames = 4000

const fold = name => (/^[ -~]*$/.test(name) ? name : name.normalize("NFKD").replace(/\p{M}/gu, "")).toLowerCase()

// Sorts naturally as text: each number is preceded by its length.
const naturalKey = folded => folded.replace(/0*(\d+)/g, (_, digits) => String.fromCharCode(47 + Math.min(16, digits.length)) + digits)

const kinds = {
	image: "png jpg jpeg gif webp avif svg bmp ico apng", video: "mp4 m4v webm mov mkv avi ogv mpg mpeg",
	audio: "mp3 m4a aac ogg oga opus flac wav", pdf: "pdf", markdown: "md markdown",
	text: "txt log csv tsv ini conf json xml yaml yml toml html htm css js mjs ts py rb rs go c h cpp cs java kt swift php pl lua sh bat sql tex srt diff patch",
	archive: "zip tar gz tgz bz2 xz 7z rar zst iso dmg deb rpm jar",
}
export function kindOf(name) {
	const extension = name.slice(name.lastIndexOf(".") + 1).toLowerCase()
	return Object.keys(kinds).find(kind => kinds[kind].split(" ").includes(extension)) ?? "file"
}

const isFolder = raw => raw.type === "directory"

class Entry {
	constructor(raw, folder) {
		this.name = raw.name
		this.isFolder = isFolder(raw)
		const href = raw.href?.slice(base.length) ?? (raw.path ? raw.path.split("/").map(encodeName).join("/") : folder + encodeName(raw.name))
		this.href = href.replace(/\/?$/, this.isFolder ? "/" : "")
		this.folded = fold(raw.name)
		this.key = naturalKey(this.folded)
		this.version = 0
		this.update(raw)
	}

	update({size = -1, modified = 0, locked, etag}) {
		this.etag = etag
		if (size === this.size && modified === this.modified && !locked === !this.locked) return
		Object.assign(this, {size, modified, locked})
		this.version++
	}

	get kind() {
		return this.isFolder ? "folder" : kindOf(this.name)
	}

	get isHidden() {
		return this.name.startsWith(".")
	}
}

const keyOf = raw => raw.href ?? raw.path ?? raw.name

class Listing {
	constructor(href) {
		Object.assign(this, {href, rights: new Set(), entries: new Map(), selection: new Set(), visible: [], filter: "", loading: true, orders: {}})
	}

	end(isWhole) {
		const {next} = this
		this.coming = this.next = undefined
		if (isWhole && next && app.listing === this) run(next)
	}

	read(onEntries, signal) {
		return readEntries(address(this.href) + "?json", {onHead: head => { this.rights = new Set(head.rights) }, onEntries, signal})
	}

	may(right) {
		return this.rights.has(right)
	}

	get(name) {
		return this.entries.get(name)
	}

	add(batch) {
		for (const raw of batch) {
			const key = keyOf(raw), known = this.get(key)
			if (known?.isFolder === isFolder(raw)) known.update(raw)
			else {
				const entry = new Entry(raw, this.href)
				this.selection.delete(known)
				this.entries.set(key, entry)
				if (this.coming !== undefined && entry.folded.includes(this.coming)) this.selection.add(entry)
			}
		}
		this.orders = {}
	}

	remove(key) {
		this.selection.delete(this.get(key))
		this.entries.delete(key)
		this.orders = {}
	}

	replaceAll(batch) {
		const keys = new Set(batch.map(keyOf))
		for (const key of this.entries.keys()) if (!keys.has(key)) this.remove(key)
		this.add(batch)
	}

	order(column) {
		return this.orders[column] ??= column === "name" ? this.byName() : this.order("name").map(list => [...list].sort((a, b) => a[column] - b[column]))
	}

	byName() {
		const all = [...this.entries.values()].sort(this.entries.size <= collatedNames
			? (a, b) => collator.compare(a.name, b.name) || (a.name < b.name ? -1 : 1)
			: (a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : a.name < b.name ? -1 : 1))
		return [all.filter(entry => entry.isFolder), all.filter(entry => !entry.isFolder)]
	}

	arrange(view) {
		const wanted = fold(this.filter.trim())
		this.hiddenCount = 0
		const take = entry => {
			if (view.hidden || !entry.isHidden) return !wanted || entry.folded.includes(wanted)
			this.hiddenCount++
			this.selection.delete(entry)
			return false
		}
		this.visible = this.order(view.sort).flatMap(list => (view.descending ? list.filter(take).reverse() : list.filter(take)))
	}

	// What a filter hides stays chosen: so files are gathered.
	get selected() {
		return [...this.selection]
	}

	setSelected(entries, selected) {
		for (const entry of entries) this.selection[selected ? "add" : "delete"](entry)
		list.refreshSelection()
		updateBar()
	}

	selectOnly(entries) {
		this.coming = this.next = undefined
		this.selection.clear()
		this.setSelected(entries, true)
	}

	// Also those still to come whose names hold `coming`; `next` is then done with them.
	setAll(selected) {
		this.next = undefined
		this.coming = selected && this.loading ? fold(this.filter.trim()) : undefined
		this.setSelected(this.visible, selected)
	}

	freeName(name, isFolder) {
		let free = name
		for (let n = 2; this.entries.has(free); n++) free = numbered(name, n, isFolder)
		return free
	}
}

export async function readFolder(href) {
	const listing = new Listing(href)
	await listing.read(batch => listing.add(batch))
	return listing
}
