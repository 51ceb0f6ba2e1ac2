// Text and code: shown, changed, and saved only over the version that was read.

import { address, app, button, childOf, fail, h, parentOf, request, shown, t, toast } from "./app.js";

export class Editor {
	constructor(entry, bytes, { etag, whole, extra, stage, edit }) {
		Object.assign(this, { entry, etag, stage });
		let text;
		try {
			text = new TextDecoder("utf-8", { fatal: whole }).decode(bytes);
		} catch {
			text = new TextDecoder("windows-1252").decode(bytes);
			whole = false;
		}
		// A field knows one kind of line end; the file gets its own back.
		this.lineEnd = text.includes("\r\n") ? "\r\n" : "\n";
		this.mark = bytes[0] === 0xef && bytes[1] === 0xbb ? "\ufeff" : "";
		this.saved = text.replaceAll("\r\n", "\n");
		const writable = whole && app.listing.may("overwrite");
		this.saveButton = button(t("Save"), "check", () => this.save(), { kind: "primary", hidden: !writable, disabled: true });
		this.area = h("textarea", { value: this.saved, readOnly: !writable, spellcheck: entry.kind === "markdown", "aria-label": shown(entry.name),
			oninput: () => this.refresh(), onkeydown: (event) => {
				if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "s") return;
				event.preventDefault();
				this.save();
			} });
		this.notice = h("div.notice", { role: "alert", hidden: whole }, t("Shown to read only"));
		this.element = h("div.editor", this.notice, this.area);
		if (entry.kind === "markdown") {
			this.mode = button(t("Edit"), "rename", () => this.setMode(!this.rendered));
			extra.append(this.mode);
		}
		extra.append(this.saveButton);
		this.leaving = (event) => { if (this.changed) event.preventDefault(); };
		addEventListener("beforeunload", this.leaving);
		this.setMode(entry.kind === "markdown" && !edit);
		if (edit) this.area.focus();
	}

	get changed() {
		return this.area.value !== this.saved;
	}

	stop() {
		removeEventListener("beforeunload", this.leaving);
	}

	async setMode(rendered) {
		this.rendered = rendered;
		if (this.mode) this.mode.lastChild.textContent = rendered ? t("Edit") : t("Preview");
		if (!rendered) {
			this.stage.replaceChildren(this.element);
			return this.area.setSelectionRange(0, 0);
		}
		const { render } = await import("./markdown.js");
		return this.stage.replaceChildren(h("article.markdown", { tabIndex: 0 }, render(this.area.value, address(parentOf(this.entry.href)))));
	}

	refresh() {
		this.saveButton.disabled = !this.changed;
	}

	async save(headers = this.etag ? { "If-Match": this.etag } : {}, href = this.entry.href) {
		const text = this.area.value;
		try {
			const answer = await request("PUT", address(href), { headers: { "Content-Type": "text/plain; charset=utf-8", ...headers },
				body: this.mark + text.replaceAll("\n", this.lineEnd) });
			if (href === this.entry.href) this.etag = answer.headers.get("ETag") ?? await this.remoteTag();
			this.notice.hidden = true;
			this.saved = text;
			this.refresh();
			toast(t("Saved"), { seconds: 4 });
			await app.refresh();
		} catch (error) {
			if (error.status === 412) this.conflict();
			else fail(error);
		}
	}

	conflict() {
		const beside = childOf(parentOf(this.entry.href), app.listing.freeName(this.entry.name, false));
		this.notice.hidden = false;
		this.notice.replaceChildren(h("span", t("Somebody else changed this file. Nothing of yours is lost.")),
			button(t("Load theirs"), null, () => this.reload().catch(fail)), button(t("Overwrite with mine"), null, () => this.save({}), { kind: "danger" }),
			button(t("Save mine as a copy"), null, () => this.save({ "If-None-Match": "*" }, beside)));
	}

	async remoteTag() {
		return (await request("HEAD", address(this.entry.href))).headers.get("ETag");
	}

	async checkRemote() {
		const now = await this.remoteTag().catch(() => this.etag);
		if (now === this.etag) return;
		if (this.changed) this.conflict();
		else await this.reload().catch(fail);
	}

	async reload() {
		const answer = await request("GET", address(this.entry.href));
		this.etag = answer.headers.get("ETag");
		this.area.value = this.saved = (await answer.text()).replaceAll("\r\n", "\n");
		this.notice.hidden = true;
		this.refresh();
		if (this.rendered) this.setMode(true);
	}
}
