// Part of app.js: the folder on screen, as list or grid. Only the rows in sight exist as elements.

const columns = ["name", "size", "modified"];
const headings = ["Name", "Size", "Modified"];

/** A browser's elements can't be higher than this; beyond it the scroll position is scaled. */
const tallest = 15_000_000;

/** The rows of one listing, virtual: a window of elements moves over the model. */
export class ListView {
  constructor({ onOpen, onMenu, onSort, onDrop, onRename }) {
    this.handlers = { onOpen, onMenu, onSort, onDrop, onRename };
    this.rows = new Map();
    this.focused = 0;
    this.anchor = 0;
    this.listing = new Listing("/");
    this.view = {};
    this.build();
    addEventListener("scroll", () => this.schedule(), { passive: true });
    new ResizeObserver(() => this.schedule()).observe(document.documentElement);
  }

  build() {
    this.all = h("input", { type: "checkbox", onchange: () => {
      this.listing.setSelected(this.listing.visible, this.all.checked);
    } });
    this.headers = columns.map((column) => h("th", { class: "column " + column, role: "columnheader", scope: "col" },
      h("button", { type: "button", onclick: () => this.handlers.onSort(column) },
        h("span", {}), icon("arrow"))));
    this.more = h("th", { class: "column more", role: "columnheader", scope: "col" }, h("span", { class: "quiet" }));
    this.body = h("tbody", { role: "rowgroup" });
    this.table = h("table", { class: "files", role: "grid", "aria-multiselectable": "true", id: "files" },
      h("thead", { role: "rowgroup" }, h("tr", { role: "row", "aria-rowindex": "1" },
        h("th", { class: "column check", role: "columnheader", scope: "col" }, h("label", { class: "tick" }, this.all)),
        this.headers, this.more)),
      this.body);
    this.element = this.table;
    this.body.addEventListener("click", (event) => this.clicked(event));
    this.body.addEventListener("dblclick", (event) => this.doubleClicked(event));
    this.body.addEventListener("contextmenu", (event) => this.contextMenu(event));
    this.body.addEventListener("focusin", (event) => {
      const row = event.target.closest("tr");
      if (row) this.setFocused(row.index, false);
    });
    this.watchLongPress();
    this.watchDrag();
    this.translate();
  }

  translate() {
    this.all.setAttribute("aria-label", t("Select all"));
    this.table.setAttribute("aria-label", t("Files"));
    this.headers.forEach((header, i) => { header.querySelector("span").textContent = t(headings[i]); });
    this.more.firstChild.textContent = t("Actions");
  }

  /** Shows `listing` with `view`; keeps rows that are still right. */
  show(listing, view) {
    if (listing !== this.listing) {
      this.listing = listing;
      this.focused = this.anchor = 0;
      this.clear();
      listing.addEventListener("selection", () => this.refreshSelection());
    }
    const focusedEntry = this.listing.visible[this.focused];
    this.view = view;
    listing.arrange(view);
    if (focusedEntry) {
      const now = listing.visible.indexOf(focusedEntry);
      this.focused = now >= 0 ? now : Math.min(this.focused, Math.max(0, listing.visible.length - 1));
    }
    this.table.classList.toggle("grid", view.mode === "grid");
    this.headers.forEach((header, i) => {
      const sorted = view.sort === columns[i];
      header.setAttribute("aria-sort", sorted ? (view.descending ? "descending" : "ascending") : "none");
    });
    this.table.setAttribute("aria-rowcount", String(listing.visible.length + 1));
    this.layout();
  }

  clear() {
    for (const row of this.rows.values()) row.remove();
    this.rows.clear();
  }

  schedule() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.layout();
    });
  }

  /** Sizes by the style sheet: a row's height, or a tile's width and height, in pixels. */
  measure() {
    const style = getComputedStyle(this.table);
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    const length = (name) => parseFloat(style.getPropertyValue(name)) * rem;
    const width = this.body.clientWidth || 300;
    this.perRow = this.view.mode === "grid" ? Math.max(1, Math.floor(width / length("--tile-width"))) : 1;
    this.rowHeight = this.view.mode === "grid" ? length("--tile-height") : length("--row-height");
    this.lines = Math.ceil(this.listing.visible.length / this.perRow);
    this.total = this.lines * this.rowHeight;
    this.height = Math.min(this.total, tallest);
  }

  /** How far the content is scrolled behind the top of the window, as if it had its whole height. */
  offset() {
    const behind = -this.body.getBoundingClientRect().top;
    if (this.total === this.height) return behind;
    return behind * (this.total - innerHeight) / (this.height - innerHeight);
  }

  /** Puts the rows in sight where they belong, and takes the others away. */
  layout() {
    this.measure();
    this.body.style.height = this.height + "px";
    const offset = this.offset();
    const shift = this.total === this.height ? 0 : offset + this.body.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor(offset / this.rowHeight) - 6) * this.perRow;
    const last = Math.min(this.listing.visible.length, (Math.ceil((offset + innerHeight) / this.rowHeight) + 6) * this.perRow);
    const keep = new Set();
    const place = (index) => {
      const entry = this.listing.visible[index];
      if (!entry || keep.has(entry)) return;
      keep.add(entry);
      let row = this.rows.get(entry);
      if (row && row.version !== entry.version && row !== this.renaming) {
        row.remove();
        row = null;
      }
      if (!row) {
        row = this.makeRow(entry);
        this.rows.set(entry, row);
      }
      row.index = index;
      row.setAttribute("aria-rowindex", String(index + 2));
      row.tabIndex = index === this.focused ? 0 : -1;
      const line = Math.floor(index / this.perRow);
      row.style.top = Math.round(line * this.rowHeight - shift) + "px";
      if (this.perRow > 1) {
        const share = 100 / this.perRow;
        row.style.insetInlineStart = (index % this.perRow) * share + "%";
        row.style.width = share + "%";
      } else {
        row.style.insetInlineStart = "";
        row.style.width = "";
      }
    };
    for (let index = first; index < last; index += 1) place(index);
    place(this.focused);
    for (const [entry, row] of this.rows) {
      if (keep.has(entry)) continue;
      row.remove();
      this.rows.delete(entry);
    }
    // The order of elements is the order of rows: screen readers and the Tab key follow it.
    let previous = null;
    for (const entry of [...keep].sort((a, b) => this.rows.get(a).index - this.rows.get(b).index)) {
      const row = this.rows.get(entry);
      const place = previous ? previous.nextSibling : this.body.firstChild;
      if (row !== place) this.body.insertBefore(row, place);
      previous = row;
    }
    this.refreshSelection();
  }

  makeRow(entry) {
    const name = shown(entry.name);
    const link = h("a", { class: "open", href: address(entry.href), draggable: false, tabIndex: -1 },
      this.thumbnail(entry), h("bdi", {}, name));
    const row = h("tr", { role: "row", class: entry.isFolder ? "folder" : "", draggable: true },
      h("td", { class: "check", role: "gridcell" }, h("label", { class: "tick" },
        h("input", { type: "checkbox", tabIndex: -1, "aria-label": t("Select {name}", { name }) }))),
      h("td", { class: "name", role: "gridcell" }, link,
        this.listing.isSearch && h("span", { class: "place" }, h("bdi", {}, shown(pathOf(parentOf(entry.href))))),
        entry.locked && h("span", { class: "badge", title: t("Locked by {name}", { name: entry.locked.owner ?? "?" }) },
          icon("lock"), h("span", { class: "quiet" }, t("Locked by {name}", { name: entry.locked.owner ?? "?" })))),
      h("td", { class: "size", role: "gridcell" }, entry.isFolder || entry.size < 0 ? "" : formatSize(entry.size)),
      h("td", { class: "modified", role: "gridcell" },
        entry.modified ? h("time", { dateTime: new Date(entry.modified).toISOString(), title: formatLongDate(entry.modified) },
          formatDate(entry.modified)) : ""),
      h("td", { class: "more", role: "gridcell" }, h("button", {
        type: "button", class: "button compact", tabIndex: -1, "aria-haspopup": "menu", "aria-label": t("Actions for {name}", { name }),
        onclick: (event) => {
          if (!this.listing.selection.has(entry)) this.listing.selectOnly([entry]);
          const box = event.currentTarget.getBoundingClientRect();
          this.handlers.onMenu(box.left, box.bottom);
          event.stopPropagation();
        } }, icon("more"))));
    row.entry = entry;
    row.version = entry.version;
    return row;
  }

  thumbnail(entry) {
    const box = h("span", { class: "thumb kind-" + entry.kind }, icon(entry.kind));
    if (this.view.mode === "grid" && entry.kind === "image" && entry.size > 0 && entry.size < 30_000_000) {
      const image = h("img", { alt: "", loading: "lazy", decoding: "async", draggable: false });
      image.addEventListener("load", () => box.classList.add("loaded"));
      image.addEventListener("error", () => image.remove());
      // A moment's wait: who scrolls past does not ask for every picture on the way.
      setTimeout(() => { if (box.isConnected) image.src = address(entry.href); }, 120);
      box.append(image);
    }
    return box;
  }

  refreshSelection() {
    const { selection, visible } = this.listing;
    for (const [entry, row] of this.rows) {
      const selected = selection.has(entry);
      if (row.getAttribute("aria-selected") !== String(selected)) row.setAttribute("aria-selected", String(selected));
      const box = row.querySelector("input[type=checkbox]");
      if (box) box.checked = selected;
    }
    this.all.checked = selection.size > 0 && selection.size >= visible.length;
    this.all.indeterminate = selection.size > 0 && !this.all.checked;
    this.table.classList.toggle("selecting", selection.size > 0);
  }

  /** Redraws rows whose words or place changed. */
  redraw() {
    this.clear();
    this.layout();
  }

  clicked(event) {
    const row = event.target.closest("tr");
    if (!row || row === this.renaming) return;
    if (event.target.closest(".tick")) {
      if (event.target.tagName !== "INPUT") return;
      if (event.shiftKey) this.selectTo(row.index, event.target.checked);
      else this.listing.setSelected([row.entry], event.target.checked);
      this.anchor = row.index;
      this.setFocused(row.index, false);
      return;
    }
    const onLink = event.target.closest("a.open");
    if (event.shiftKey || event.ctrlKey || event.metaKey) {
      event.preventDefault();
      if (event.shiftKey) this.selectTo(row.index, true, !(event.ctrlKey || event.metaKey));
      else this.toggle(row.index);
      this.setFocused(row.index, true);
      return;
    }
    if (this.pressed || event.pointerType === "touch" || matchMedia("(hover: none)").matches) {
      event.preventDefault();
      if (this.pressed) this.pressed = false;
      else if (this.listing.selection.size) this.toggle(row.index);
      else this.handlers.onOpen(row.entry);
      return;
    }
    this.setFocused(row.index, true);
    this.anchor = row.index;
    if (onLink) {
      event.preventDefault();
      this.handlers.onOpen(row.entry);
    } else {
      this.listing.selectOnly([row.entry]);
    }
  }

  doubleClicked(event) {
    const row = event.target.closest("tr");
    if (row && row !== this.renaming && !event.target.closest("a, button, .tick")) this.handlers.onOpen(row.entry);
  }

  contextMenu(event) {
    const row = event.target.closest("tr");
    if (!row || row === this.renaming) return;
    event.preventDefault();
    event.stopPropagation();
    if (this.lastPointer === "touch") return;
    this.setFocused(row.index, true);
    if (!this.listing.selection.has(row.entry)) this.listing.selectOnly([row.entry]);
    const box = row.getBoundingClientRect();
    this.handlers.onMenu(event.clientX || box.left + 40, event.clientY || box.bottom);
  }

  /** A finger that rests on a row selects it. */
  watchLongPress() {
    let timer = null, start = null;
    const stop = () => clearTimeout(timer);
    this.body.addEventListener("pointerdown", (event) => {
      this.lastPointer = event.pointerType;
      this.pressed = false;
      const row = event.target.closest("tr");
      if (event.pointerType !== "touch" || !row) return;
      start = event;
      timer = setTimeout(() => {
        this.pressed = true;
        this.toggle(row.index);
        navigator.vibrate?.(15);
      }, 450);
    });
    this.body.addEventListener("pointermove", (event) => {
      if (start && Math.hypot(event.clientX - start.clientX, event.clientY - start.clientY) > 10) stop();
    });
    for (const type of ["pointerup", "pointercancel"]) this.body.addEventListener(type, stop);
    this.body.addEventListener("touchend", (event) => { if (this.pressed) event.preventDefault(); });
  }

  /** Rows are dragged onto folders: to move, or with Ctrl or Alt to copy. */
  watchDrag() {
    this.body.addEventListener("dragstart", (event) => {
      const row = event.target.closest?.("tr");
      if (!row || row === this.renaming || this.lastPointer === "touch") return event.preventDefault();
      if (!this.listing.selection.has(row.entry)) this.listing.selectOnly([row.entry]);
      const entries = this.listing.selected;
      this.dragged = entries;
      event.dataTransfer.effectAllowed = "copyMove";
      event.dataTransfer.setData("application/x-shareserve", JSON.stringify(entries.map((entry) => entry.href)));
      event.dataTransfer.setData("text/uri-list", entries.map((entry) => location.origin + address(entry.href)).join("\r\n"));
      if (entries.length === 1 && !entries[0].isFolder) {
        const url = location.origin + address(entries[0].href);
        event.dataTransfer.setData("DownloadURL", `application/octet-stream:${entries[0].name.replaceAll(":", "_")}:${url}`);
      }
    });
    this.body.addEventListener("dragend", () => { this.dragged = null; });
  }

  /** The folder row under a drag, or null. */
  folderAt(target) {
    const row = target.closest?.("tr.folder");
    if (!row || !this.body.contains(row) || this.dragged?.includes(row.entry)) return null;
    return row;
  }

  toggle(index) {
    const entry = this.listing.visible[index];
    if (!entry) return;
    this.listing.setSelected([entry], !this.listing.selection.has(entry));
    this.anchor = index;
  }

  selectTo(index, selected = true, only = false) {
    const [from, to] = this.anchor < index ? [this.anchor, index] : [index, this.anchor];
    const range = this.listing.visible.slice(from, to + 1);
    if (only) this.listing.selectOnly(range);
    else this.listing.setSelected(range, selected);
  }

  setFocused(index, move) {
    const count = this.listing.visible.length;
    if (!count) return;
    const next = Math.max(0, Math.min(count - 1, index));
    const before = this.rows.get(this.listing.visible[this.focused]);
    if (before) before.tabIndex = -1;
    this.focused = next;
    const row = this.rows.get(this.listing.visible[next]);
    if (row) row.tabIndex = 0;
    if (move) this.focus();
  }

  /** Brings the focused row into sight and gives it the focus. */
  focus() {
    const entry = this.listing.visible[this.focused];
    if (!entry) return;
    this.measure();
    const top = Math.floor(this.focused / this.perRow) * this.rowHeight - this.offset();
    const head = this.table.tHead.getBoundingClientRect().bottom;
    const scale = this.total === this.height ? 1 : (this.height - innerHeight) / (this.total - innerHeight);
    if (top < head) scrollBy(0, (top - head) * scale);
    else if (top + this.rowHeight > innerHeight - 16) scrollBy(0, (top + this.rowHeight - innerHeight + 16) * scale);
    this.layout();
    this.rows.get(entry)?.focus({ preventScroll: true });
  }

  focusEntry(name) {
    const index = this.listing.visible.findIndex((entry) => entry.name === name);
    if (index < 0) return;
    this.focused = this.anchor = index;
    this.focus();
  }

  get current() {
    return this.listing.visible[this.focused];
  }

  /** Turns a row's name into a field; resolves to the new name, or null when given up. */
  editName(entry) {
    const index = this.listing.visible.indexOf(entry);
    if (index < 0) return Promise.resolve(null);
    this.focused = index;
    this.focus();
    const row = this.rows.get(entry);
    const link = row.querySelector("a.open");
    const input = h("input", { class: "rename", type: "text", value: entry.name, "aria-label": t("New name for {name}", { name: shown(entry.name) }),
      autocomplete: "off", spellcheck: false, enterKeyHint: "done" });
    this.renaming = row;
    row.draggable = false;
    link.hidden = true;
    link.after(input);
    input.focus();
    input.setSelectionRange(0, stemLength(entry.name, entry.isFolder));
    return new Promise((resolve) => {
      const finish = (name) => {
        if (this.renaming !== row) return;
        this.renaming = null;
        const hadFocus = document.activeElement === input;
        input.remove();
        link.hidden = false;
        row.draggable = true;
        if (hadFocus) row.focus({ preventScroll: true });
        this.layout();
        resolve(name && name !== entry.name ? name : null);
      };
      input.addEventListener("keydown", (event) => {
        event.stopPropagation();
        if (event.key === "Enter") finish(input.value);
        if (event.key === "Escape") finish(null);
      });
      input.addEventListener("blur", () => finish(input.value));
    });
  }
}
