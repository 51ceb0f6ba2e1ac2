// Part of app.js: the model of a folder. Entries, their orders, the filter and the selection; no elements.

const collator = new Intl.Collator(currentLanguage(), { numeric: true, sensitivity: "base" });

/** How many names are compared by the rules of the language; more are compared by prepared keys. */
const collatedNames = 4000;

const fold = (name) => (/^[\x20-\x7e]*$/.test(name) ? name : name.normalize("NFKD").replace(/\p{M}/gu, "")).toLowerCase();

/** A key that sorts naturally as text: each number is preceded by its length. */
const naturalKey = (folded) => folded.replace(/\d+/g, (digits) => {
  const number = digits.replace(/^0+(?=\d)/, "");
  return String.fromCharCode(47 + Math.min(16, number.length)) + number;
});

const kinds = {
  image: "png jpg jpeg gif webp avif svg bmp ico heic heif apng jfif",
  video: "mp4 m4v webm mov mkv avi ogv mpg mpeg 3gp",
  audio: "mp3 m4a aac ogg oga opus flac wav weba aiff",
  pdf: "pdf",
  markdown: "md markdown",
  text: "txt log csv tsv ini conf cfg json json5 jsonl xml yaml yml toml html htm css js mjs cjs ts tsx jsx py rb rs go c h cc cpp hpp "
    + "cs java kt swift php pl lua sh bash zsh fish bat ps1 sql tex bib srt vtt diff patch env gitignore makefile dockerfile cmake "
    + "gradle properties lock svelte vue scss sass less r jl m mm hs ex exs erl clj scala dart asm s nfo rst adoc org editorconfig",
  archive: "zip tar gz tgz bz2 xz 7z rar zst iso dmg deb rpm jar",
};
const kindByExtension = new Map(
  Object.entries(kinds).flatMap(([kind, list]) => list.split(" ").map((extension) => [extension, kind])));

export class Entry {
  constructor(raw, folderHref) {
    this.name = raw.name;
    this.isFolder = raw.type === "directory";
    this.href = (raw.href ?? (raw.path ? hrefOf(raw.path) : folderHref + encodeName(raw.name)))
      .replace(/\/?$/, this.isFolder ? "/" : "");
    this.oddName = raw.href !== undefined;
    this.folded = fold(raw.name);
    this.key = naturalKey(this.folded);
    this.update(raw);
  }

  update(raw) {
    this.size = raw.size ?? -1;
    this.modified = raw.modified ?? 0;
    this.etag = raw.etag ?? null;
    this.locked = raw.locked ?? null;
    this.version = (this.version ?? 0) + 1;
  }

  get kind() {
    if (this.isFolder) return "folder";
    return kindByExtension.get(this.folded.slice(this.folded.lastIndexOf(".") + 1)) ?? "file";
  }

  get isHidden() {
    return this.name.startsWith(".");
  }
}

/** Names that macOS leaves behind and nobody wants to see, not even with hidden files shown. */
const isClutter = (name) => name === ".DS_Store" || name.startsWith("._");

/** The entries of one folder (or one search), in the order and with the filter asked for. */
export class Listing extends EventTarget {
  constructor(href) {
    super();
    this.href = href;
    this.rights = new Set();
    this.entries = new Map();
    this.selection = new Set();
    this.visible = [];
    this.filter = "";
    this.loading = true;
    this.orders = new Map();
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
      const key = raw.href ?? raw.path ?? raw.name;
      const known = this.entries.get(key);
      if (known && known.isFolder === (raw.type === "directory")) known.update(raw);
      else this.entries.set(key, new Entry(raw, this.href));
    }
    this.orders.clear();
  }

  remove(name) {
    const entry = this.entries.get(name);
    if (!entry) return;
    this.entries.delete(name);
    this.selection.delete(entry);
    this.orders.clear();
  }

  /** Takes over a whole new reading of the folder; selected entries that are still there stay selected. */
  replaceAll(batch) {
    const names = new Set(batch.map((raw) => raw.href ?? raw.path ?? raw.name));
    for (const name of [...this.entries.keys()]) if (!names.has(name)) this.remove(name);
    this.add(batch);
  }

  /** All entries ascending by `column`, folders and files apart. Kept until an entry comes or goes. */
  order(column) {
    const known = this.orders.get(column);
    if (known) return known;
    const folders = [], files = [];
    for (const entry of this.entries.values()) (entry.isFolder ? folders : files).push(entry);
    const byName = this.entries.size <= collatedNames
      ? (a, b) => collator.compare(a.name, b.name) || (a.name < b.name ? -1 : 1)
      : (a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : a.name < b.name ? -1 : 1);
    let sorted;
    if (column === "name") {
      sorted = { folders: folders.sort(byName), files: files.sort(byName) };
    } else {
      const names = this.order("name");
      const byValue = (a, b) => a[column] - b[column];
      sorted = {
        folders: column === "size" ? names.folders : [...names.folders].sort(byValue),
        files: [...names.files].sort(byValue),
      };
    }
    this.orders.set(column, sorted);
    return sorted;
  }

  /** Computes what is shown. `view`: { sort, descending, hidden }. */
  arrange(view) {
    const wanted = fold(this.filter.trim());
    const showHidden = view.hidden;
    const order = this.order(view.sort);
    const visible = [];
    this.hiddenCount = 0;
    for (const list of [order.folders, order.files]) {
      const take = (entry) => {
        if (!showHidden && entry.isHidden) this.hiddenCount += 1;
        else if (!wanted || entry.folded.includes(wanted)) visible.push(entry);
      };
      if (view.descending) for (let i = list.length - 1; i >= 0; i -= 1) take(list[i]);
      else for (const entry of list) take(entry);
    }
    this.visible = visible;
  }

  /** Prepares the other orders while the browser has nothing else to do, so that a click on a column is answered at once. */
  prepare() {
    const later = globalThis.requestIdleCallback ?? ((work) => setTimeout(work, 50));
    for (const column of ["size", "modified"]) later(() => this.order(column));
  }

  get selected() {
    return this.visible.filter((entry) => this.selection.has(entry));
  }

  setSelected(entries, selected) {
    for (const entry of entries) {
      if (selected) this.selection.add(entry);
      else this.selection.delete(entry);
    }
    this.dispatchEvent(new Event("selection"));
  }

  selectOnly(entries) {
    this.selection = new Set(entries);
    this.dispatchEvent(new Event("selection"));
  }

  /** A name that nobody has here yet: the n-th beside the wanted one. */
  freeName(name, isFolder) {
    if (!this.entries.has(name)) return name;
    for (let n = 2; ; n += 1) {
      const candidate = numbered(name, n, isFolder);
      if (!this.entries.has(candidate)) return candidate;
    }
  }
}

/** The entry just by its address, for dialogs that look at another folder. */
export async function readFolder(href, signal) {
  const listing = new Listing(href);
  await readEntries(address(href) + "?json", {
    onHead: (head) => { listing.rights = new Set(head.rights ?? ["read"]); },
    onEntries: (batch) => listing.add(batch), signal,
  });
  listing.loading = false;
  return listing;
}
