// What was deleted and is still kept.

import {api, button, confirm, dialog, fail, formatDate, h, iconButton, info, restore, shown, t} from "./app.js"

export function showTrash() {
	const rows = h("ul.rows")
	const load = async () => {
		const {items} = await api("GET", "trash")
		rows.replaceChildren(...items.map(item => h("li", h("span", h("bdi", shown(item.path)), h("small", item.deleted && formatDate(item.deleted))),
			button(t("Restore"), "retry", () => restore([item]).then(load).catch(fail)),
			iconButton(t("Delete forever"), "delete", () => api("DELETE", "trash?id=" + encodeURIComponent(item.id)).then(load).catch(fail), {kind: "danger"}))))
		if (!items.length) rows.append(h("li", t("The trash is empty")))
		empty.disabled = !items.length
	}
	const empty = button(t("Empty the trash"), "delete", async () => {
		if (await confirm(t("Empty the trash"), t("This can't be undone."), t("Delete"))) await api("DELETE", "trash").then(load).catch(fail)
	}, {kind: "danger"})
	dialog(t("Trash"), [h("p", t("Kept for {n} day|Kept for {n} days", {n: info.trashDays})), rows], empty, {kind: "wide"})
	load().catch(fail)
}
