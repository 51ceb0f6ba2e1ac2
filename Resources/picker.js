// Choosing a folder to move or copy to.

import { app, askName, button, childOf, dialog, fail, h, icon, makeFolder, nameOf, parentOf, readFolder, shown, t } from "./app.js";

export function chooseFolder(method, items) {
	return new Promise((resolve) => {
		let chosen = null, here = app.href;
		const moving = method === "MOVE";
		const title = moving ? "Move {n} item to…|Move {n} items to…" : "Copy {n} item to…|Copy {n} items to…";
		const box = dialog(t(title, { n: items.length }), { onclose: () => resolve(chosen) });
		const where = h("p", { role: "status" });
		const tree = h("ul.tree", { "aria-label": t("Folders") });
		const row = (label, target, iconName) => h("li", h("button", { onclick: () => show(target) }, icon(iconName), h("bdi", label)));
		const create = button(t("New folder"), "new-folder", async () => {
			const name = await askName(t("New folder"), t("New folder"), true);
			const href = name && childOf(here, name, true);
			if (href) await makeFolder(href).then(() => show(href), fail);
		});
		const go = button(moving ? t("Move here") : t("Copy here"), null, () => { chosen = here; box.close(); }, { kind: "primary" });

		async function show(href) {
			const listing = await readFolder(href).catch(fail);
			if (!listing) return;
			here = href;
			const focus = tree.contains(document.activeElement);
			where.textContent = shown(nameOf(href) || t("Home"));
			create.disabled = !listing.may("create");
			go.disabled = create.disabled || (moving && items.every((item) => parentOf(item.href) === href));
			const usable = listing.order("name").folders.filter((entry) => (app.view.hidden || !entry.isHidden)
				&& !(moving && items.some((item) => item.href === entry.href)));
			tree.replaceChildren(href === "/" ? "" : row(t("Up one folder"), parentOf(href), "up"),
				...usable.map((entry) => row(shown(entry.name), entry.href, "folder")), usable.length ? "" : h("li.nothing", t("No folders in here")));
			if (focus) tree.querySelector("button")?.focus();
		}

		box.body.append(where, tree);
		box.buttons.append(create, button(t("Cancel"), null, () => box.close()), go);
		show(here);
		box.show();
	});
}
