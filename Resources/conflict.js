// The question about a name that is taken.

import {address, closing, dialog, formatDate, formatSize, h, icon, folderName, shown, t} from "./app.js"

function side(heading, {name, size, modified, href, file, kind}) {
	const src = file ? URL.createObjectURL(file) : href && address(href)
	const picture = h("div.picture", kind === "image" ? h("img", {alt: "", src, onload: () => URL.revokeObjectURL(src)}) : icon(kind ?? "file"))
	return h("section", h("h3", heading), picture, h("strong", h("bdi", shown(name))), h("span", size >= 0 && formatSize(size)),
		h("span", modified && formatDate(modified)))
}

/** Resolves to { choice: "replace" | "keep" | "skip", all }. Only a button closes it. */
export async function askConflict({ours, theirs = {name: ours.name}, folder, several}) {
	const all = h("input", {type: "checkbox"})
	const choice = await dialog(t("“{name}” is already there", {name: shown(ours.name)}),
		[h("p", t("The name is taken in “{folder}”. Which one do you want?", {folder: folderName(folder)})),
			h("div.compare", side(t("Already there"), theirs), side(t("New"), ours)), several && h("label.choice", all, t("Do this for all conflicts"))],
		[closing(t("Skip"), "skip"), !theirs.isFolder === !ours.isFolder && closing(t("Replace"), "replace", {kind: "danger"}),
			closing(t("Keep both"), "keep", {kind: "primary", autofocus: true})], {kind: "wide", keep: true}).answer
	return {choice, all: all.checked}
}
