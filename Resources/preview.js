// Looking at a file without leaving the page: pictures, film, sound, PDF, text. What is shown is never run.

import { address, app, button, confirm, decodeName, encodeName, fail, formatSize, h, icon, iconButton, placeToasts, request, save, shown, t } from "./app.js";

const textLimit = 2_000_000;
let open = null;

export function openPreview(entry, { edit, fromAddress } = {}) {
	open ??= new Preview();
	open.pushed ||= !fromAddress;
	if (!fromAddress && !location.hash.startsWith("#view=")) history.pushState({ scroll: scrollY }, "", "#view=" + encodeName(entry.name));
	open.show(entry, edit);
}

app.preview = {
	/** Back and forward: true when the address was the preview's business. */
	onAddress() {
		if (!open) return false;
		const name = /^#view=(.*)$/.exec(location.hash)?.[1];
		const entry = name && app.listing.get(decodeName(name));
		if (entry) open.show(entry);
		else open.close(false);
		return true;
	},
};

app.onRemoteChange = (names) => { if (names.includes(open?.entry?.name)) open.editor?.checkRemote(); };

class Preview {
	constructor() {
		this.title = h("h2", { id: "preview-title" });
		this.about = h("span.about");
		this.extra = h("span.tools");
		this.previous = iconButton(t("Previous"), "back", () => this.walk(-1));
		this.next = iconButton(t("Next"), "next", () => this.walk(1));
		this.stage = h("div.stage");
		this.before = document.activeElement;
		this.dialog = h("dialog.preview", { "aria-labelledby": "preview-title", oncancel: (event) => {
			event.preventDefault();
			this.close();
		}, onkeydown: (event) => this.key(event) },
		h("div.preview-head", this.title, this.about, this.extra, this.previous, this.next,
			iconButton(t("Download"), "download", () => save(this.entry.href, "download")), iconButton(t("Close"), "close", () => this.close())), this.stage);
		document.body.append(this.dialog);
		this.dialog.showModal();
	}

	get siblings() {
		return app.listing.visible.filter((entry) => !entry.isFolder);
	}

	async show(entry, edit) {
		if (this.entry === entry || !await this.mayLeave()) return;
		this.stop();
		this.abort = new AbortController();
		this.entry = entry;
		const hash = "#view=" + encodeName(entry.name);
		if (location.hash.startsWith("#view=")) history.replaceState(history.state, "", hash);
		this.title.textContent = shown(entry.name);
		this.about.textContent = formatSize(Math.max(0, entry.size));
		const at = this.siblings.indexOf(entry);
		this.previous.disabled = at <= 0;
		this.next.disabled = at < 0 || at === this.siblings.length - 1;
		this.extra.replaceChildren();
		this.stage.replaceChildren();
		this.stage.className = "stage";
		try {
			await this.fill(entry, address(entry.href), edit);
		} catch (error) {
			if (error.name !== "AbortError") this.card(error.message);
		}
	}

	fill(entry, src, edit) {
		const { kind } = entry;
		const onerror = () => this.card(t("Your browser can't show this file"));
		if (kind === "text" || kind === "markdown" || edit) return this.text(edit);
		if (kind === "pdf") return this.pdf(src);
		if (kind === "video" || kind === "audio") return this.stage.append(h(kind, { controls: true, preload: "metadata", src, playsInline: true, onerror }));
		if (kind !== "image") return this.card(t("No preview for this kind of file"));
		const image = h("img", { alt: shown(entry.name), src, draggable: false, onerror });
		this.zoom = new Zoom(this.stage, image);
		this.extra.append(iconButton(t("Zoom out"), "zoom-out", () => this.zoom.by(1 / 1.5)), iconButton(t("Zoom in"), "zoom-in", () => this.zoom.by(1.5)));
		return this.stage.append(image);
	}

	card(words) {
		const { entry } = this;
		this.stage.replaceChildren(h("div.card", icon(entry.kind), h("p", words),
			button(t("Download"), "download", () => save(entry.href, "download"), { kind: "primary" }),
			entry.size <= textLimit && button(t("Show as text"), "text", () => this.text().catch(fail))));
	}

	/** The browser's own reader shows a copy: the file itself answers with a sandbox that no reader works in. */
	async pdf(source) {
		if (!navigator.pdfViewerEnabled || this.entry.size > 1e8) return this.card(t("No preview for this kind of file"));
		const answer = await request("GET", source, { signal: this.abort.signal });
		this.blob = URL.createObjectURL(new Blob([await answer.arrayBuffer()], { type: "application/pdf" }));
		return this.stage.append(h("iframe", { src: this.blob, title: shown(this.entry.name) }));
	}

	async text(edit) {
		const { entry } = this;
		const whole = entry.size <= textLimit;
		const answer = await request("GET", address(entry.href), { signal: this.abort.signal, headers: whole ? {} : { Range: "bytes=0-199999" } });
		const bytes = new Uint8Array(await answer.arrayBuffer());
		const { Editor } = await import("./editor.js");
		if (this.entry !== entry) return;
		this.stage.classList.add("scroll");
		this.editor = new Editor(entry, bytes, { etag: answer.headers.get("ETag"), whole, edit, extra: this.extra, stage: this.stage });
	}

	walk(step) {
		const next = this.siblings[this.siblings.indexOf(this.entry) + step];
		if (next) this.show(next);
	}

	key(event) {
		event.stopPropagation();
		if (event.target.matches("textarea, video, audio") || event.ctrlKey || event.metaKey || event.altKey) return;
		const forward = document.dir === "rtl" ? -1 : 1;
		const work = { ArrowRight: () => this.walk(forward), ArrowLeft: () => this.walk(-forward), "+": () => this.zoom?.by(1.5), "=": () => this.zoom?.by(1.5),
			"-": () => this.zoom?.by(1 / 1.5), 0: () => this.zoom?.by(0) }[event.key];
		if (!work) return;
		event.preventDefault();
		work();
	}

	async mayLeave() {
		return !this.editor?.changed || confirm(t("Unsaved changes"), t("Your changes are not saved yet."), t("Discard changes"));
	}

	stop() {
		this.abort?.abort();
		this.editor?.stop();
		if (this.blob) URL.revokeObjectURL(this.blob);
		this.blob = this.editor = this.zoom = null;
	}

	async close(goBack = true) {
		const { entry, pushed, before } = this;
		if (!await this.mayLeave()) {
			if (!goBack) history.pushState(history.state, "", "#view=" + encodeName(entry.name));
			return;
		}
		this.stop();
		open = null;
		this.dialog.close();
		placeToasts();
		this.dialog.remove();
		if (goBack && pushed) history.back();
		else if (goBack) history.replaceState(history.state, "", location.pathname);
		if (app.listing.visible.includes(entry)) app.list.focusEntry(entry.name);
		else before?.focus?.();
	}
}

/** A picture that can be brought nearer: by wheel, double click, keys; moved about by scrolling. */
class Zoom {
	constructor(stage, image) {
		Object.assign(this, { stage, image, scale: 1 });
		image.addEventListener("wheel", (event) => {
			event.preventDefault();
			this.by(Math.exp(-event.deltaY / 400), event);
		});
		image.addEventListener("dblclick", (event) => this.by(this.scale > 1 ? 0 : 2.5, event));
		image.addEventListener("pointermove", (event) => {
			if (event.buttons === 1 && event.pointerType === "mouse") stage.scrollBy(-event.movementX, -event.movementY);
		});
	}

	/** The point under the pointer stays where it is; the middle without one. */
	by(factor, event) {
		const { stage, image } = this;
		const { x, y, width, height } = stage.getBoundingClientRect();
		const { clientX = x + width / 2, clientY = y + height / 2 } = event ?? {};
		const before = image.getBoundingClientRect();
		const scale = Math.max(1, Math.min(16, this.scale * factor));
		const grown = scale / this.scale;
		image.style.width = scale > 1 ? before.width * grown + "px" : "";
		image.style.maxWidth = image.style.maxHeight = scale > 1 ? "none" : "";
		this.scale = scale;
		const after = image.getBoundingClientRect();
		stage.scrollBy(after.x + (clientX - before.x) * grown - clientX, after.y + (clientY - before.y) * grown - clientY);
	}
}
