// What was deleted and is still kept.

import { apiAddress, app, button, confirm, dialog, fail, formatDate, h, iconButton, info, request, shown, t } from "./app.js";

export function showTrash() {
	const box = dialog(t("Trash"), { kind: "wide" });
	const rows = h("ul.rows");
	const load = async () => {
		const { items } = await (await request("GET", apiAddress("trash"))).json();
		rows.replaceChildren(...items.map((item) => h("li", h("span", h("bdi", shown(item.path)), h("small", item.deleted && formatDate(item.deleted))),
			button(t("Restore"), "retry", () => request("POST", apiAddress("trash/restore"), { json: { ids: [item.id], conflict: "keep" } })
				.then(() => Promise.all([load(), app.refresh()])).catch(fail)),
			iconButton(t("Delete forever"), "delete", () => request("DELETE", apiAddress("trash?id=" + encodeURIComponent(item.id))).then(load).catch(fail),
				{ kind: "danger" }))));
		if (!items.length) rows.append(h("li", t("The trash is empty")));
		empty.disabled = !items.length;
	};
	const empty = button(t("Empty the trash"), "delete", async () => {
		if (await confirm(t("Empty the trash"), t("This can't be undone."), t("Delete"))) await request("DELETE", apiAddress("trash")).then(load).catch(fail);
	}, { kind: "danger" });
	box.body.append(h("p", t("Kept for {n} day|Kept for {n} days", { n: info.trashDays })), rows);
	box.buttons.append(empty);
	load().catch(fail);
	box.show();
}
