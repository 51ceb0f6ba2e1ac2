// Share links: an address that shows one file or folder to whoever has it.

import { apiAddress, button, confirm, dialog, fail, field, formatDate, h, iconButton, nameOf, pathOf, request, shown, t } from "./app.js";
import { copyText, showCode } from "./qr.js";

/** Addresses by the links' ids: only the answer that makes a link tells its address. */
const known = {};

export function showLinks(href) {
	const box = dialog(t("Share “{name}”", { name: shown(nameOf(href) || t("Home")) }), { kind: "wide" });
	const path = pathOf(href);
	const rows = h("ul.rows", { "aria-label": t("Links") });
	const expires = h("select", [[86400, t("1 day")], [604800, t("1 week")], [2592000, t("30 days")], ["", t("Never")]]
		.map(([value, label]) => h("option", { value, selected: value === 604800 }, label)));
	const password = h("input", { type: "text", autocomplete: "off" });
	const most = h("input", { type: "number", min: 1 });
	const uploads = h("input", { type: "checkbox" });

	async function load() {
		const { items } = await (await request("GET", apiAddress("links?path=" + encodeURIComponent(path)))).json();
		rows.replaceChildren(...items.filter((item) => item.path.replace(/\/$/, "") === path.replace(/\/$/, "")).map(row));
	}

	const row = (item) => h("li", h("span", known[item.id] ? h("a", { href: known[item.id], target: "_blank", rel: "noopener" }, known[item.id])
		: t("Link of {date}", { date: formatDate(item.created) }), h("small", [
		item.expires ? t("until {date}", { date: formatDate(item.expires) }) : t("Never expires"), item.upload && t("with uploads"),
		item.password && t("with password"), typeof item.downloadsLeft === "number" && t("{n} download left|{n} downloads left", { n: item.downloadsLeft }),
	].filter(Boolean).join(" \u00b7 "))),
	known[item.id] && [iconButton(t("Copy address"), "copy", () => copyText(known[item.id])), iconButton(t("QR code"), "qr", () => showCode(known[item.id]))], iconButton(t("Revoke link"), "delete", async () => {
		if (!await confirm(t("Revoke link"), t("The address stops working at once."), t("Revoke link"))) return;
		await request("DELETE", apiAddress("links?id=" + encodeURIComponent(item.id))).then(load).catch(fail);
	}, { kind: "danger" }));

	box.body.append(h("div.two", field(t("Expires"), expires), field(t("Password (optional)"), password), field(t("Most downloads (optional)"), most),
		href.endsWith("/") ? h("label.choice", uploads, t("Allow uploads")) : ""), rows);
	box.buttons.append(button(t("Create link"), "link", async () => {
		try {
			const answer = await request("POST", apiAddress("links"), { json: { path, expires: Number(expires.value) || null,
				upload: uploads.checked, password: password.value || null, maxDownloads: Number(most.value) || null } });
			const { id, address } = await answer.json();
			known[id] = new URL(address, location.origin).href;
			await load();
			await copyText(known[id]);
		} catch (error) {
			fail(error);
		}
	}, { kind: "primary" }));
	load().catch(fail);
	box.show();
}
