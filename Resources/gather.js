// Where uploads come from: drops and the clipboard, as streams of { file, path, handle } and { folder }.

import {t} from "./app.js"

async function* walk(entry, path) {
	if (entry.isFile) return yield {file: await new Promise((resolve, reject) => entry.file(resolve, reject)), path}
	yield {folder: path}
	const reader = entry.createReader()
	for (;;) {
		// A reader gives at most a hundred entries at a time, and an empty answer at the end.
		const batch = await new Promise((resolve, reject) => reader.readEntries(resolve, reject))
		if (!batch.length) return undefined
		for (const child of batch) yield* walk(child, `${path}/${child.name}`)
	}
}

/** `items`: what the drop event gave at once: { entry, file, handle }. */
export async function* fromDrop(items) {
	for (const {entry, file, handle} of items) {
		if (entry?.isDirectory) yield* walk(entry, entry.name)
		else if (file) yield {file, path: file.name, handle}
	}
}

export async function* fromClipboard(files, text) {
	// Swedes write 2026-12-31 23:59:59.
	const stamp = new Date().toLocaleString("sv").replaceAll(":", ".")
	// Pictures from the clipboard are all called image.png.
	for (const file of files) yield {file, path: file.name === "image.png" ? `${t("Pasted image")} ${stamp}.png` : file.name}
	if (!files.length) yield {file: new File([text], "text", {type: "text/plain"}), path: `${t("Pasted text")} ${stamp}.txt`}
}
