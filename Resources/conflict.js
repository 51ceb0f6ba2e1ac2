// The question about a name that is taken.

import { address, button, dialog, formatDate, formatSize, h, icon, nameOf, shown, t } from "./app.js";

function side(heading, { name, size, modified, href, file, isFolder }) {
	const picture = h("div.picture", icon(isFolder ? "folder" : "file"));
	if (!isFolder && /\.(png|jpe?g|gif|webp|avif|svg|bmp)$/i.test(name)) {
		const src = file ? URL.createObjectURL(file) : address(href);
		picture.replaceChildren(h("img", { alt: "", src, onload: () => { if (file) URL.revokeObjectURL(src); } }));
	}
	return h("section", h("h3", heading), picture, h("strong", h("bdi", shown(name))), h("span", size >= 0 && formatSize(size)),
		h("span", modified && formatDate(modified)));
}

/** Resolves to { choice: "replace" | "keep" | "skip", all }. Only an answer closes it. */
export function askConflict({ ours, theirs = { name: ours.name }, folder, several }) {
	return new Promise((resolve) => {
		const all = h("input", { type: "checkbox" });
		const box = dialog(t("“{name}” is already there", { name: shown(ours.name) }),
			{ kind: "wide", keep: true, onclose: (choice) => resolve({ choice, all: all.checked }) });
		const answer = (label, choice, kind) => button(label, null, () => box.close(choice), { kind, autofocus: choice === "keep" });
		box.body.append(h("p", t("The name is taken in “{folder}”. Which one do you want?", { folder: shown(nameOf(folder) || t("Home")) })),
			h("div.compare", side(t("Already there"), theirs), side(t("New"), ours)), several ? h("label.choice", all, t("Do this for all conflicts")) : "");
		box.buttons.append(answer(t("Skip"), "skip"), !theirs.isFolder === !ours.isFolder ? answer(t("Replace"), "replace", "danger") : "",
			answer(t("Keep both"), "keep", "primary"));
		box.show();
	});
}
