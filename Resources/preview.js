// Looking at a file without leaving the page: pictures, film, sound, PDF, text. What is shown is never run.

import { address, ApiError, app, action, button, confirm, encodeName, fail, formatSize, h, icon, keyLabel, nameOf, parentOf, request, run, save,
  shown, t, toast } from "./app.js";

const textLimit = 2_000_000;
let open = null;

/** Opens the preview, or lets the browser save what can't be shown. */
export function openPreview(entry, { edit = false, fromAddress = false } = {}) {
  if (!open) open = new Preview();
  open.pushed ||= !fromAddress;
  if (!fromAddress && !location.hash.startsWith("#view=")) history.pushState({ scroll: scrollY }, "", "#view=" + encodeName(entry.name));
  open.show(entry, edit);
}

app.preview = {
  /** Back and forward: true when the address was the preview's business. */
  onAddress() {
    if (!open) return false;
    const name = /^#view=(.*)$/.exec(location.hash)?.[1];
    const entry = name && app.listing.get(decodeURIComponent(name));
    if (entry) open.show(entry);
    else open.close(false);
    return true;
  },
};

app.onRemoteChange = (names) => { if (open?.entry && names.includes(open.entry.name)) open.editor?.checkRemote(); };

class Preview {
  constructor() {
    this.title = h("h2", { id: "preview-title" });
    this.about = h("span", { class: "about" });
    this.extra = h("span", { class: "tools" });
    this.previous = button(t("Previous"), "back", () => this.walk(-1), { compact: true });
    this.next = button(t("Next"), "next", () => this.walk(1), { compact: true });
    this.stage = h("div", { class: "stage" });
    this.dialog = h("dialog", { class: "preview", "aria-labelledby": "preview-title" },
      h("div", { class: "preview-head" }, this.title, this.about, this.extra, this.previous, this.next,
        button(t("Download"), "download", () => save(address(this.entry.href) + "?download"), { compact: true }),
        button(t("Close"), "close", () => this.close(), { compact: true })),
      this.stage);
    this.dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      this.close();
    });
    this.dialog.addEventListener("keydown", (event) => this.key(event));
    this.watchSwipe();
    this.before = document.activeElement;
    document.body.append(this.dialog);
    this.dialog.showModal();
  }

  get siblings() {
    return app.listing.visible.filter((entry) => !entry.isFolder);
  }

  async show(entry, edit = false) {
    if (this.entry === entry || !await this.mayLeave()) return;
    this.abort?.abort();
    this.abort = new AbortController();
    if (this.blob) URL.revokeObjectURL(this.blob);
    this.blob = this.editor = this.zoom = null;
    this.entry = entry;
    const hash = "#view=" + encodeName(entry.name);
    if (location.hash !== hash && location.hash.startsWith("#view=")) history.replaceState(history.state, "", hash);
    this.title.textContent = shown(entry.name);
    this.about.textContent = formatSize(Math.max(0, entry.size));
    const at = this.siblings.indexOf(entry);
    this.previous.disabled = at <= 0;
    this.next.disabled = at < 0 || at === this.siblings.length - 1;
    this.extra.replaceChildren();
    this.stage.replaceChildren();
    this.stage.className = "stage";
    try {
      await this.fill(entry, edit);
    } catch (error) {
      if (error.name !== "AbortError") this.card(entry, error.message);
    }
  }

  fill(entry, edit) {
    const source = address(entry.href);
    switch (entry.kind) {
      case "image": return this.image(entry, source);
      case "video": case "audio": {
        const media = h(entry.kind, { controls: true, preload: "metadata", src: source, playsInline: true, "aria-label": shown(entry.name) });
        media.addEventListener("error", () => this.card(entry, t("Your browser can't show this file. Download it instead.")));
        return this.stage.append(media);
      }
      case "pdf": return this.pdf(entry, source);
      case "text": case "markdown": return this.text(entry, edit);
      default: return edit ? this.text(entry, edit) : this.card(entry, t("No preview for this kind of file."));
    }
  }

  card(entry, words) {
    this.stage.replaceChildren(h("div", { class: "card" }, icon(entry.kind), h("p", {}, words),
      button(t("Download"), "download", () => save(address(entry.href) + "?download"), { kind: "primary" }),
      entry.size <= textLimit && entry.kind !== "text" ? button(t("Show as text"), "text", () => this.text(entry).catch(fail)) : null));
  }

  image(entry, source) {
    const image = h("img", { alt: shown(entry.name), src: source, draggable: false });
    image.addEventListener("error", () => this.card(entry, t("Your browser can't show this file. Download it instead.")));
    this.zoom = new Zoom(this.stage, image);
    this.extra.append(button(t("Zoom out"), "zoom-out", () => this.zoom.by(1 / 1.5), { compact: true }),
      button(t("Zoom in"), "zoom-in", () => this.zoom.by(1.5), { compact: true }));
    this.stage.append(image);
  }

  /** The browser's own reader shows a copy: the file itself answers with a sandbox that no reader works in. */
  async pdf(entry, source) {
    if (!navigator.pdfViewerEnabled || entry.size > 100_000_000) return this.card(entry, t("No preview for this kind of file."));
    const answer = await request("GET", source, { signal: this.abort.signal });
    this.blob = URL.createObjectURL(new Blob([await answer.arrayBuffer()], { type: "application/pdf" }));
    return this.stage.append(h("iframe", { src: this.blob, title: shown(entry.name) }));
  }

  async text(entry, edit = false) {
    const whole = entry.size <= textLimit;
    const answer = await request("GET", address(entry.href), { signal: this.abort.signal, headers: whole ? {} : { Range: "bytes=0-199999" } });
    const bytes = new Uint8Array(await answer.arrayBuffer());
    const { Editor } = await import("./editor.js");
    if (this.entry !== entry) return;
    if (bytes.subarray(0, 8000).includes(0)) return void this.card({ ...entry, kind: "text" }, t("No preview for this kind of file."));
    this.stage.classList.add("scroll");
    this.editor = new Editor(entry, bytes, { etag: answer.headers.get("ETag"), whole, extra: this.extra, stage: this.stage, edit });
  }

  walk(step) {
    const list = this.siblings;
    const next = list[list.indexOf(this.entry) + step];
    if (next) this.show(next);
  }

  key(event) {
    event.stopPropagation();
    if (event.target.matches("textarea, video, audio, input") || event.ctrlKey || event.metaKey || event.altKey) return;
    const back = document.dir === "rtl" ? "ArrowRight" : "ArrowLeft";
    if (event.key === "ArrowLeft" || event.key === "ArrowRight") this.walk(event.key === back ? -1 : 1);
    else if (event.key === "+" || event.key === "=") this.zoom?.by(1.5);
    else if (event.key === "-") this.zoom?.by(1 / 1.5);
    else if (event.key === "0") this.zoom?.reset();
    else return;
    event.preventDefault();
  }

  watchSwipe() {
    let start = null;
    this.stage.addEventListener("touchstart", (event) => { start = event.touches.length === 1 ? event.touches[0] : null; }, { passive: true });
    this.stage.addEventListener("touchend", (event) => {
      const end = event.changedTouches[0];
      if (!start || this.zoom?.scale > 1 || this.editor) return;
      const across = end.clientX - start.clientX;
      if (Math.abs(across) > 60 && Math.abs(across) > 2 * Math.abs(end.clientY - start.clientY)) {
        this.walk((across > 0 ? -1 : 1) * (document.dir === "rtl" ? -1 : 1));
      }
    });
  }

  async mayLeave() {
    return !this.editor?.changed || confirm(t("Unsaved changes"), t("Your changes to this file are not saved yet."), t("Discard changes"));
  }

  async close(goBack = true) {
    if (!await this.mayLeave()) {
      if (!goBack) history.pushState(history.state, "", "#view=" + encodeName(this.entry.name));
      return;
    }
    this.abort?.abort();
    if (this.blob) URL.revokeObjectURL(this.blob);
    this.editor?.stop();
    open = null;
    const { entry, pushed, before } = this;
    this.dialog.close();
    const toasts = this.dialog.querySelector(".toasts");
    if (toasts) document.body.append(toasts);
    this.dialog.remove();
    if (goBack) {
      if (pushed) history.back();
      else history.replaceState(history.state, "", location.pathname);
    }
    if (app.listing.visible.includes(entry)) app.list.focusEntry(entry.name);
    else before?.focus?.();
  }
}

/** A picture that can be brought nearer: wheel, pinch, double click, keys; and moved about. */
class Zoom {
  constructor(stage, image) {
    Object.assign(this, { stage, image });
    this.pointers = new Map();
    this.reset();
    image.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.by(Math.exp(-event.deltaY / 400), event.clientX, event.clientY);
    });
    image.addEventListener("dblclick", (event) => (this.scale > 1 ? this.reset() : this.by(2.5, event.clientX, event.clientY)));
    image.addEventListener("pointerdown", (event) => {
      image.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, event);
    });
    image.addEventListener("pointermove", (event) => this.moved(event));
    for (const type of ["pointerup", "pointercancel"]) image.addEventListener(type, (event) => this.pointers.delete(event.pointerId));
  }

  moved(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) return;
    const other = [...this.pointers.values()].find((one) => one.pointerId !== event.pointerId);
    if (other) {
      const far = (one) => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY) || 1;
      this.by(far(event) / far(before), (event.clientX + other.clientX) / 2, (event.clientY + other.clientY) / 2);
    } else if (this.scale > 1) {
      this.x += event.clientX - before.clientX;
      this.y += event.clientY - before.clientY;
      this.apply();
    }
    this.pointers.set(event.pointerId, event);
  }

  by(factor, x, y) {
    const box = this.stage.getBoundingClientRect();
    const scale = Math.max(1, Math.min(16, this.scale * factor));
    const [toX, toY] = [(x ?? box.x + box.width / 2) - box.x - box.width / 2, (y ?? box.y + box.height / 2) - box.y - box.height / 2];
    this.x = toX - (toX - this.x) * scale / this.scale;
    this.y = toY - (toY - this.y) * scale / this.scale;
    this.scale = scale;
    if (scale === 1) this.x = this.y = 0;
    this.apply();
  }

  reset() {
    this.scale = 1;
    this.x = this.y = 0;
    this.apply();
  }

  apply() {
    this.image.style.transform = `translate(${this.x}px, ${this.y}px) scale(${this.scale})`;
    this.image.style.cursor = this.scale > 1 ? "grab" : "";
  }
}
