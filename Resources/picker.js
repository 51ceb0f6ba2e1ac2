// Choosing a folder to move or copy to.

import { app, ask, button, dialog, encodeName, fail, h, icon, makeFolder, nameOf, parentOf, readFolder, shown, t } from "./app.js";

/** Resolves to the folder's href, or null when given up. */
export function chooseFolder(method, items) {
  return new Promise((resolve) => {
    let chosen = null, here = app.href;
    const box = dialog(t(method === "MOVE" ? "Move {n} item to…|Move {n} items to…" : "Copy {n} item to…|Copy {n} items to…", { n: items.length }), { onclose: () => resolve(chosen) });
    const where = h("p", { role: "status" });
    const tree = h("ul", { class: "tree", "aria-label": t("Folders") });
    const go = button(t(method === "MOVE" ? "Move here" : "Copy here"), null, () => { chosen = here; box.close(); }, { kind: "primary" });
    const moved = new Set(method === "MOVE" ? items.map((item) => item.href) : []);

    async function show(href) {
      let listing;
      try {
        listing = await readFolder(href);
      } catch (error) {
        return fail(error);
      }
      here = href;
      const focus = tree.contains(document.activeElement);
      where.replaceChildren(icon("folder"), " ", h("bdi", {}, href === "/" ? t("Home") : shown(nameOf(href))));
      go.disabled = !listing.may("create") || (method === "MOVE" && items.every((item) => parentOf(item.href) === href));
      create.disabled = !listing.may("create");
      const row = (label, target, iconName) => h("li", {}, h("button", { type: "button", onclick: () => show(target) }, icon(iconName), h("bdi", {}, label)));
      const { folders } = listing.order("name");
      const usable = folders.filter((entry) => !moved.has(entry.href) && (app.view.hidden || !entry.isHidden));
      tree.replaceChildren(...(href === "/" ? [] : [row(t("Up one folder"), parentOf(href), "up")]),
        ...usable.map((entry) => row(shown(entry.name), entry.href, "folder")));
      if (!usable.length) tree.append(h("li", { class: "nothing" }, t("No folders in here")));
      if (focus) tree.querySelector("button")?.focus();
      return undefined;
    }

    const create = button(t("New folder"), "new-folder", async () => {
      const name = await ask(t("New folder"), t("Name"), t("New folder"), t("Create"));
      if (!name) return;
      const href = here + encodeName(name) + "/";
      await makeFolder(href).then(() => show(href), fail);
    });
    box.body.append(where, tree);
    box.buttons.append(create, button(t("Cancel"), null, () => box.close()), go);
    show(here);
    box.show();
  });
}
