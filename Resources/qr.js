// The address of the folder shown, as a code for a phone's camera. The server draws it.

import { apiAddress, dialog, fail, h, iconButton, info, t, toast } from "./app.js";

/** Pages from plain http have no clipboard of their own. */
export async function copyText(text) {
	try {
		await navigator.clipboard.writeText(text);
	} catch {
		const area = h("textarea.quiet", { value: text });
		document.querySelector("dialog[open]").append(area);
		area.select();
		document.execCommand("copy");
		area.remove();
	}
	toast(t("Address copied"), { seconds: 3 });
}

const isLocal = (url) => /^(localhost|127\.|\[::1\])/.test(url.host);

/** "localhost" means nothing to a phone: other addresses come first. */
export function showCode(address) {
	const all = [address, ...info.addresses ?? []].map((one) => new URL(new URL(address).pathname, one));
	const choices = [...new Set([...all.filter((url) => !isLocal(url)), ...all].map((url) => url.href))];
	const box = dialog(t("QR code"));
	const image = h("img.qr", { alt: t("QR code"), onerror: () => fail(new Error(t("The address is too long for a QR code"))) });
	const text = h("input", { type: "text", readOnly: true, "aria-label": t("Address") });
	const show = (one) => {
		text.value = one;
		image.src = apiAddress("qr?text=" + encodeURIComponent(one));
	};
	box.body.append(image, h("div.address", text, iconButton(t("Copy address"), "copy", () => copyText(text.value))));
	if (choices.length > 1) box.body.append(h("select", { "aria-label": t("Addresses"), onchange: (event) => show(event.target.value) }, choices.map((value) => h("option", { value }, value))));
	show(choices[0]);
	box.show();
}
