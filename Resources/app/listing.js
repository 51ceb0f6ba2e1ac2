// Part of app.js: the model of a folder. Entries, their orders, the filter and the selection; no elements.

const collator = new Intl.Collator(boot.language, { numeric: true, sensitivity: "base" });

/** So many names are compared by the rules of the language; more are compared by prepared keys. */
const collatedNames = 4000;

const fold = (name) => (/^[ -~]*$/.test(name) ? name : name.normalize("NFKD").replace(/\p{M}/gu, "")).toLowerCase();

/** A key that sorts naturally as text: each number is preceded by its length. */
const naturalKey = (folded) => folded.replace(/0*(\d+)/g, (_, digits) => String.fromCharCode(47 + Math.min(16, digits.length)) + digits);

const kinds = {
	image: "png jpg jpeg gif webp avif svg bmp ico heic apng", video: "mp4 m4v webm mov mkv avi ogv mpg mpeg",
	audio: "mp3 m4a aac ogg oga opus flac wav", pdf: "pdf", markdown: "md markdown",
	text: "txt log csv tsv ini conf cfg json xml yaml yml toml html htm css js mjs ts tsx jsx py rb rs go c h cc cpp hpp cs java kt swift php "
		+ "pl lua sh bat ps1 sql tex srt vtt diff patch env makefile cmake rst",
	archive: "zip tar gz tgz bz2 xz 7z rar zst iso dmg deb rpm jar",
};
const kindByExtension = new Map(Object.entries(kinds).flatMap(([kind, list]) => list.split(" ").map((one) => [one, kind])));

class Entry {
	constructor(raw, folder) {
		this.name = raw.name;
		this.isFolder = raw.type === "directory";
		const href = raw.href ?? (raw.path ? raw.path.split("/").map(encodeName).join("/") : folder + encodeName(raw.name));
		this.href = href.replace(/\/?$/, this.isFolder ? "/" : "");
		this.oddName = raw.href !== undefined;
		this.folded = fold(raw.name);
		this.key = naturalKey(this.folded);
		this.version = 0;
		this.update(raw);
	}

	update({ size = -1, modified = 0, locked }) {
		if (size === this.size && modified === this.modified && !locked === !this.locked) return;
		Object.assign(this, { size, modified, locked });
		this.version += 1;
	}

	get kind() {
		return this.isFolder ? "folder" : kindByExtension.get(this.folded.slice(this.folded.lastIndexOf(".") + 1)) ?? "file";
	}

	get isHidden() {
		return this.name.startsWith(".");
	}
}

const isClutter = (name) => name === ".DS_Store" || name.startsWith("._");
const keyOf = (raw) => raw.href ?? raw.path ?? raw.name;

class Listing extends EventTarget {
	constructor(href) {
		super();
		Object.assign(this, { href, rights: new Set(), entries: new Map(), selection: new Set(), visible: [], filter: "", loading: true, orders: {} });
	}

	may(right) {
		return this.rights.has(right);
	}

	get(name) {
		return this.entries.get(name);
	}

	add(batch) {
		for (const raw of batch) {
			if (isClutter(raw.name)) continue;
			const known = this.entries.get(keyOf(raw));
			if (known?.isFolder === (raw.type === "directory")) known.update(raw);
			else this.entries.set(keyOf(raw), new Entry(raw, this.href));
		}
		this.orders = {};
	}

	remove(key) {
		this.selection.delete(this.entries.get(key));
		this.entries.delete(key);
		this.orders = {};
	}

	/** Takes over a new reading of the folder; what is still there keeps its selection. */
	replaceAll(batch) {
		const keys = new Set(batch.map(keyOf));
		for (const key of [...this.entries.keys()]) if (!keys.has(key)) this.remove(key);
		this.add(batch);
	}

	/** All entries ascending by `column`, folders and files apart; kept until an entry comes or goes. */
	order(column) {
		return this.orders[column] ??= this.sorted(column);
	}

	sorted(column) {
		if (column !== "name") {
			const { folders, files } = this.order("name");
			const byValue = (a, b) => a[column] - b[column];
			return { folders: column === "size" ? folders : [...folders].sort(byValue), files: [...files].sort(byValue) };
		}
		const all = [...this.entries.values()].sort(this.entries.size <= collatedNames
			? (a, b) => collator.compare(a.name, b.name) || (a.name < b.name ? -1 : 1)
			: (a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : a.name < b.name ? -1 : 1));
		return { folders: all.filter((entry) => entry.isFolder), files: all.filter((entry) => !entry.isFolder) };
	}

	arrange(view) {
		const wanted = fold(this.filter.trim());
		const { folders, files } = this.order(view.sort);
		this.hiddenCount = 0;
		const take = (entry) => {
			if (view.hidden || !entry.isHidden) return !wanted || entry.folded.includes(wanted);
			this.hiddenCount += 1;
			return false;
		};
		const turned = (list) => (view.descending ? list.filter(take).reverse() : list.filter(take));
		this.visible = turned(folders).concat(turned(files));
	}

	/** Prepares the other orders in idle time: a click on a column is then answered at once. */
	prepare() {
		const later = globalThis.requestIdleCallback ?? setTimeout;
		for (const column of ["size", "modified"]) later(() => this.order(column));
	}

	get selected() {
		return this.visible.filter((entry) => this.selection.has(entry));
	}

	setSelected(entries, selected) {
		for (const entry of entries) this.selection[selected ? "add" : "delete"](entry);
		this.dispatchEvent(new Event("selection"));
	}

	selectOnly(entries) {
		this.selection.clear();
		this.setSelected(entries, true);
	}

	freeName(name, isFolder) {
		let free = name;
		for (let n = 2; this.entries.has(free); n += 1) free = numbered(name, n, isFolder);
		return free;
	}
}

export async function readFolder(href, signal) {
	const listing = new Listing(href);
	await readEntries(address(href) + "?json", { onHead: (head) => { listing.rights = new Set(head.rights); }, onEntries: (batch) => listing.add(batch), signal });
	listing.loading = false;
	return listing;
}
