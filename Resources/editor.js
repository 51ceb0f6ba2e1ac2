// Text and code: shown, changed, and saved only over the version that was read.

import { address, app, button, encodeName, fail, h, numbered, parentOf, request, shown, t, toast } from "./app.js";

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
    this.mark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? "\ufeff" : "";
    this.saved = text.replaceAll("\r\n", "\n");
    const writable = whole && app.listing.may("overwrite");
    this.area = h("textarea", { value: this.saved, readOnly: !writable, spellcheck: entry.kind === "markdown", autocapitalize: "off", class: "wrap",
      "aria-label": shown(entry.name), oninput: () => this.refresh() });
    this.notice = h("div", { role: "alert", class: "notice", hidden: true });
    if (!whole) this.say(t("Shown to read only"));
    this.element = h("div", { class: "editor" }, this.notice, this.area);
    this.area.addEventListener("keydown", (event) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "s") {
        event.preventDefault();
        this.save();
      }
    });
    this.saveButton = button(t("Save"), "save", () => this.save(), { kind: "primary", hidden: !writable, disabled: true });
    if (entry.kind === "markdown") {
      this.modeButton = button("", "rename", () => this.setMode(!this.rendered));
      extra.append(this.modeButton);
    }
    extra.append(this.saveButton);
    this.setMode(entry.kind === "markdown" && !edit);
    this.leaving = (event) => { if (this.changed) event.preventDefault(); };
    addEventListener("beforeunload", this.leaving);
    if (edit && !this.rendered) this.area.focus();
  }

  get changed() {
    return this.area.value !== this.saved;
  }

  stop() {
    removeEventListener("beforeunload", this.leaving);
  }

  async setMode(rendered) {
    this.rendered = rendered;
    if (this.modeButton) this.modeButton.querySelector(".label").textContent = t(rendered ? "Edit" : "Preview");
    if (!rendered) {
      this.stage.replaceChildren(this.element);
      this.area.setSelectionRange(0, 0);
      return;
    }
    const { render } = await import("./markdown.js");
    this.stage.replaceChildren(h("article", { class: "markdown", tabIndex: 0 }, render(this.area.value, address(parentOf(this.entry.href)))));
  }

  refresh() {
    this.saveButton.disabled = !this.changed;
  }

  say(text, ...buttons) {
    this.notice.hidden = false;
    this.notice.replaceChildren(h("span", {}, text), ...buttons);
  }

  async save(headers = this.etag ? { "If-Match": this.etag } : {}, href = this.entry.href) {
    const text = this.area.value;
    try {
      const answer = await request("PUT", address(href), {
        headers: { "Content-Type": "text/plain; charset=utf-8", ...headers }, body: this.mark + text.replaceAll("\n", this.lineEnd),
      });
      this.notice.hidden = true;
      this.saved = text;
      if (href === this.entry.href) this.etag = answer.headers.get("ETag") ?? (await this.remoteTag());
      this.refresh();
      toast(t("Saved"), { seconds: 4 });
      await app.refresh();
    } catch (error) {
      if (error.status === 412) this.conflict();
      else fail(error);
    }
  }

  conflict() {
    this.say(t("Somebody else changed this file. Nothing of yours is lost."), button(t("Load theirs"), null, () => this.reload().catch(fail)),
      button(t("Overwrite with mine"), null, () => this.save({}), { kind: "danger" }),
      button(t("Save mine as a copy"), null, () => this.saveCopy()));
  }

  async remoteTag() {
    return (await request("HEAD", address(this.entry.href))).headers.get("ETag");
  }

  /** Somebody changed the file: said at once, not only when it is saved. */
  async checkRemote() {
    try {
      if (await this.remoteTag() === this.etag) return;
    } catch {
      return;
    }
    if (this.changed) this.conflict();
    else await this.reload().catch(fail);
  }

  async reload() {
    const answer = await request("GET", address(this.entry.href));
    this.etag = answer.headers.get("ETag");
    this.saved = (await answer.text()).replaceAll("\r\n", "\n");
    this.area.value = this.saved;
    this.notice.hidden = true;
    this.refresh();
    if (this.rendered) this.setMode(true);
  }

  async saveCopy() {
    const name = app.listing.freeName(numbered(this.entry.name, 2, false), false);
    await this.save({ "If-None-Match": "*" }, parentOf(this.entry.href) + encodeName(name));
  }
}
