// The address of the folder shown, as a code for a phone's camera. The server draws it.

import {apiAddress, dialog, fail, h, iconButton, info, t, toast, topDialog} from "./app.js"

/** Pages from plain http have no clipboard of their own. */
export async function copyText(text) {
	try {
		await navigator.clipboard.writeText(text)
	} catch {
		const area = h("textarea.quiet", {value: text})
		topDialog().append(area)
		area.select()
		const done = document.execCommand("copy")
		area.remove()
		if (!done) return
	}
	toast(t("Address copied"), {seconds: 3})
}

const isLocal = url => /^(localhost|127\.|\[::1\])/.test(url.host)

/** "localhost" means nothing to a phone: other addresses come first. */
export function showCode(address) {
	const all = [address, ...info.addresses ?? []].map(one => new URL(new URL(address).pathname, one))
	const choices = [...new Set([...all.filter(url => !isLocal(url)), ...all].map(url => url.href))]
	const image = h("img.qr", {alt: t("QR code"), onerror: () => fail(new Error(t("The address is too long for a QR code")))})
	const text = h("input", {readOnly: true, label: t("Address")})
	const show = one => {
		text.value = one
		image.src = apiAddress("qr?text=" + encodeURIComponent(one))
	}
	show(choices[0])
	dialog(t("QR code"), [image, h("div.address", text, iconButton(t("Copy address"), "copy", () => copyText(text.value))),
		choices.length > 1 && h("select", {label: t("Address"), onchange: event => show(event.target.value)}, choices.map(value => h("option", value)))])
}
