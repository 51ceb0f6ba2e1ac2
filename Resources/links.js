// Share links: an address that shows one file or folder to whoever has it.

import {api, button, confirm, dialog, fail, field, formatDate, h, iconButton, joined, folderName, pathOf, t} from "./app.js"
import {copyText, showCode} from "./qr.js"

/** Addresses by the links' ids: only the answer that makes a link tells its address. */
const known = {}

export function showLinks(href) {
	const path = pathOf(href), rows = h("ul.rows", {label: t("Links")})
	const expires = h("select", [[86400, t("1 day")], [604800, t("1 week")], [2592000, t("30 days")], ["", t("Never")]]
		.map(([value, label]) => h("option", {value, selected: value === 604800}, label)))
	const password = h("input", {autocomplete: "off"}), most = h("input", {type: "number", min: 1}), uploads = h("input", {type: "checkbox"})
	const trimmed = one => one.replace(/\/$/, "")
	const load = async () => {
		const {items} = await api("GET", "links?path=" + encodeURIComponent(path))
		rows.replaceChildren(...items.filter(item => trimmed(item.path) === trimmed(path)).map(row))
	}
	const revoke = async ({id}) => {
		if (!await confirm(t("Revoke link"), t("The address stops working at once."), t("Revoke link"))) return
		await api("DELETE", "links?id=" + encodeURIComponent(id)).then(load).catch(fail)
	}
	const create = async () => {
		const {id, address} = await api("POST", "links", {path, expires: Number(expires.value) || null,
			upload: uploads.checked, password: password.value || null, maxDownloads: Number(most.value) || null})
		known[id] = new URL(address, location.origin).href
		await load()
		await copyText(known[id])
	}

	function row(item) {
		const target = known[item.id]
		const about = joined(item.expires ? t("until {date}", {date: formatDate(item.expires)}) : t("Never expires"), item.upload && t("with uploads"),
			item.password && t("with password"), typeof item.downloadsLeft === "number" && t("{n} download left|{n} downloads left", {n: item.downloadsLeft}))
		return h("li", h("span", target ? h("a", {href: target, target: "_blank", rel: "noopener"}, target) : t("Link of {date}", {date: formatDate(item.created)}),
			h("small", about)), target && [iconButton(t("Copy address"), "copy", () => copyText(target)),
			iconButton(t("QR code"), "qr", () => showCode(target))], iconButton(t("Revoke link"), "delete", () => revoke(item), {kind: "danger"}))
	}

	dialog(t("Share “{name}”", {name: folderName(href)}), [h("div.two", field(t("Expires"), expires),
		field(t("Password (optional)"), password), field(t("Most downloads (optional)"), most), href.endsWith("/") && h("label.choice", uploads, t("Allow uploads"))),
	h("p", t("A link's address shows once: copy it now.")), rows], button(t("Create link"), "link", () => create().catch(fail), {kind: "primary"}), {kind: "wide"})
	load().catch(fail)
}
