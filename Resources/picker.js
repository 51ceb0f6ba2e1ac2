// Choosing a folder to move or copy to.

import {app, askName, button, childOf, closing, dialog, fail, h, icon, makeFolder, folderName, parentOf, readFolder, shown, t} from "./app.js"

/** Resolves to the folder's href, or "" when given up. */
export function chooseFolder(method, items) {
	let here = app.href
	const moving = method === "MOVE", where = h("p", {role: "status"}), tree = h("ul.tree", {label: t("Folders")})
	const row = (label, target, iconName) => h("li", h("button", {onclick: () => show(target)}, icon(iconName), h("bdi", label)))
	const create = button(t("New folder"), "new-folder", async () => {
		const name = await askName(t("New folder"), t("New folder"), true)
		const href = name && childOf(here, name, true)
		if (href) await makeFolder(href).then(() => show(href), fail)
	})
	const go = button(moving ? t("Move here") : t("Copy here"), null, () => box.close(here), {kind: "primary"})

	async function show(href) {
		const listing = await readFolder(href).catch(fail)
		if (!listing) return
		here = href
		const hadFocus = tree.contains(document.activeElement)
		where.textContent = folderName(href)
		create.disabled = !listing.may("create")
		go.disabled = create.disabled || (moving && items.every(item => parentOf(item.href) === href))
		const usable = listing.order("name")[0].filter(entry => (app.view.hidden || !entry.isHidden)
			&& !(moving && items.some(item => item.href === entry.href)))
		tree.replaceChildren(href === "/" ? "" : row(t("Up one folder"), parentOf(href), "up"),
			...usable.map(entry => row(shown(entry.name), entry.href, "folder")), usable.length ? "" : h("li.note", t("No folders in here")))
		if (hadFocus) tree.querySelector("button")?.focus()
	}

	const box = dialog(moving ? t("Move to…") : t("Copy to…"), [where, tree], [create, closing(), go])
	show(here)
	return box.answer
}
