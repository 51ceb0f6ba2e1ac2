// Sources of uploads: streams of {file, path, handle} and {folder}.

import {memory, t, toast} from "./app.js"

async function* childrenOf(entry) {
	if (entry.values) return yield* entry.values()
	const reader = entry.createReader()
	for (;;) {
		// A hundred at a time, none at the end.
		const batch = await new Promise((resolve, reject) => reader.readEntries(resolve, reject))
		if (!batch.length) return
		yield* batch
	}
}

const fileOf = entry => entry.getFile?.() ?? new Promise((resolve, reject) => entry.file(resolve, reject))

// `root`: the handle that leads here after a reload.
async function* walk(entry, root, path = entry.name) {
	if (entry.isFile || entry.kind === "file") return yield {file: await fileOf(entry), path, root}
	yield {folder: path, root}
	for await (const child of childrenOf(entry)) yield* walk(child, root, `${path}/${child.name}`)
}

export const sources = {
	files: files => files.map(file => ({file, path: file.webkitRelativePath || file.name})),

	// An entry knows names that a handle leaves out.
	async *drop(items) {
		for (const {entry, file, handle} of items) {
			if (entry?.isDirectory) yield* walk(entry, await handle)
			else if (file) yield {file, path: file.name, handle}
		}
	},

	async *handles(handles) {
		for (const handle of handles) {
			if (handle.kind === "file") yield {file: await handle.getFile(), path: handle.name, handle}
			else {
				if (!memory.get("told")) toast(t("Shortcuts and names with “:” are left out. Drop the folder to send all."), {seconds: 20})
				memory.set("told", true)
				yield* walk(handle, handle)
			}
		}
	},

	async *clipboard(files, text) {
		// Swedes write 2026-12-31 23:59:59.
		const stamp = new Date().toLocaleString("sv").replaceAll(":", ".")
		// All pictures from there are called image.png.
		for (const file of files) yield {file, path: file.name === "image.png" ? `${t("Pasted image")} ${stamp}.png` : file.name}
		if (!files.length) yield {file: new File([text], "text", {type: "text/plain"}), path: `${t("Pasted text")} ${stamp}.txt`}
	},
}
