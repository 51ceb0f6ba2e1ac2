// Part of app.js: what is dragged over the page, from outside (files) or from the list (to move or copy).

const internalType = "application/x-shareserve";

export function watchDrop() {
  const name = h("strong", {});
  const overlay = h("div", { class: "drop-overlay", hidden: true, "aria-hidden": "true" }, h("div", { class: "drop-card" }, icon("upload"), h("p", {}, "")));
  document.body.append(overlay);
  let marked = null;

  /** Where a drop here would go: a folder's row, a step of the breadcrumbs, or the folder shown. */
  const targetOf = (event) => {
    const row = app.list.folderAt(event.target);
    if (row) return { element: row, href: row.entry.href, name: row.entry.name };
    const crumb = event.target.closest?.("nav a[data-folder]");
    if (crumb) return { element: crumb, href: crumb.dataset.folder, name: crumb.textContent };
    return { element: null, href: app.href, name: app.href === "/" ? t("Home") : nameOf(app.href) };
  };
  const mark = (element) => {
    if (marked === element) return;
    marked?.classList.remove("drop-target");
    element?.classList.add("drop-target");
    marked = element;
  };
  const clear = () => {
    overlay.hidden = true;
    mark(null);
  };

  addEventListener("dragover", (event) => {
    const types = event.dataTransfer?.types ?? [];
    const inside = types.includes(internalType);
    if (!inside && !types.includes("Files")) return;
    if (document.querySelector("dialog[open]")) return;
    event.preventDefault();
    const target = targetOf(event);
    if (inside) {
      const usable = target.element && target.href !== app.href;
      event.dataTransfer.dropEffect = !usable ? "none" : event.ctrlKey || event.altKey ? "copy" : "move";
      mark(usable ? target.element : null);
      return;
    }
    const allowed = action("upload").enabled();
    event.dataTransfer.dropEffect = allowed ? "copy" : "none";
    mark(allowed ? target.element : null);
    overlay.classList.toggle("refused", !allowed);
    name.textContent = shown(target.name);
    overlay.querySelector("p").replaceChildren(...(allowed ? [t("Drop to upload to") + " ", name] : [t("You may not upload here")]));
    overlay.hidden = false;
  });
  addEventListener("dragleave", (event) => { if (!event.relatedTarget) clear(); });
  addEventListener("dragend", clear);
  addEventListener("drop", async (event) => {
    const types = event.dataTransfer?.types ?? [];
    const target = targetOf(event);
    clear();
    if (types.includes(internalType)) {
      event.preventDefault();
      const hrefs = JSON.parse(event.dataTransfer.getData(internalType) || "[]");
      if (!target.element || target.href === app.href) return;
      const items = hrefs.map((href) => ({ href, name: nameOf(href), isFolder: href.endsWith("/") }))
        .map((item) => app.listing.get(item.name) ?? item);
      place(event.ctrlKey || event.altKey ? "COPY" : "MOVE", items, target.href).catch(fail);
      return;
    }
    if (!types.includes("Files")) return;
    event.preventDefault();
    if (!action("upload").enabled()) return toast(t("You may not upload here"), { kind: "bad" });
    // Both must be asked for before the event is over.
    const items = [...event.dataTransfer.items].filter((item) => item.kind === "file").map((item) => ({
      entry: item.webkitGetAsEntry?.() ?? null, file: item.getAsFile(),
      handle: item.getAsFileSystemHandle?.().catch(() => null) ?? null,
    }));
    const { upload, fromDrop } = await import("./transfer.js");
    upload(fromDrop(items), target.href);
  });
}
