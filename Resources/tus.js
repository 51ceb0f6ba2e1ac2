// Sending by tus 1.0, and what of it outlives the page.

import {apiAddress, ApiError, isPlain, lastOf, memory, parentOf, request, wantDigest} from "./app.js"

export const tusVersion = {"Tus-Resumable": "1.0.0"}
const pieceSize = 64 << 20
// Where nothing moves for so long, the connection is lost.
const patience = 45_000

// fetch reports no progress of a body.
export function send(method, target, {headers, body, report, signal}) {
	return new Promise((resolve, reject) => {
		const request = new XMLHttpRequest()
		let timer
		const wait = time => {
			clearTimeout(timer)
			timer = setTimeout(() => request.abort(), time)
		}
		request.open(method, target)
		for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value)
		request.upload.onprogress = ({loaded, total}) => {
			// Once all is sent, the server may take its time.
			wait(loaded === total ? patience * 20 : patience)
			report(loaded)
		}
		request.onload = () => {
			const headers = {get: name => request.getResponseHeader(name)}
			if (request.status < 300) resolve({headers})
			else reject(new ApiError(request.status, isPlain({headers}) && request.responseText))
		}
		request.onloadend = () => {
			clearTimeout(timer)
			reject(new ApiError(0))
		}
		if (signal.aborted) request.onloadend()
		signal.addEventListener("abort", () => request.abort())
		wait(patience)
		request.send(body)
	})
}

let opened

// Null without one. The handle is at [key], what of a folder is done at [key, path].
async function database(mode, work) {
	opened ??= new Promise((resolve, reject) => {
		const opening = indexedDB.open("shareserve")
		opening.onupgradeneeded = () => opening.result.createObjectStore("handles")
		opening.onsuccess = () => resolve(opening.result)
		opening.onerror = reject
	})
	try {
		const asked = work((await opened).transaction("handles", mode).objectStore("handles"))
		return await new Promise((resolve, reject) => { Object.assign(asked, {onsuccess: () => resolve(asked.result), onerror: reject}) })
	} catch {
		return null
	}
}

const within = key => IDBKeyRange.bound([key], [key, []])

function change(work) {
	const all = records.all()
	work(all)
	memory.set("uploads", all)
}

// One page at a time works on a folder.
const hold = key => new Promise((resolve, reject) => { navigator.locks.request("shareserve." + key, () => new Promise(resolve)).catch(reject) })

export const records = {
	keyOf: item => JSON.stringify([item.name, item.size, item.file?.lastModified ?? item.mtime, item.target, item.folder]),
	all: () => memory.get("uploads", {}),
	get: ({key}) => records.all()[key],
	async put(item, url) {
		const {key, name, size, target, folder, href, file, tree} = item
		change(all => { all[key] = {url, key, name, size, target, folder, href, mtime: file.lastModified, tree: tree?.key} })
		const handle = await item.handle
		if (handle) await database("readwrite", store => store.put(handle, [key]))
	},
	handle: ({key}) => database("readonly", store => store.get([key])),
	remove({key, letGo}) {
		if (!records.get({key})) return
		change(all => { delete all[key] })
		database("readwrite", store => store.delete(within(key)))
		letGo?.()
	},

	// Until nothing is `left`, the walk included.
	async putTree(handle, target) {
		const key = crypto.randomUUID(), letGo = await hold(key)
		change(all => { all[key] = {key, target} })
		await database("readwrite", store => store.put(handle, [key]))
		return {key, target, handle, letGo, left: 1}
	},
	// An earlier page's folder, once no page works on it; nothing when it is done.
	async takeTree({key, target}) {
		const letGo = await hold(key), handle = await records.handle({key}), marks = await database("readonly", store => store.getAllKeys(within(key)))
		if (records.get({key}) && handle) return {key, target, handle, letGo, left: 1, done: new Set(marks.map(([, path]) => path))}
		records.remove({key})
		return letGo()
	},
	mark: ({key}, path) => database("readwrite", store => store.put(true, [key, path])),
}

// Null: it is forgotten.
export async function offsetOf(record, signal) {
	try {
		const answer = await request("HEAD", record.url, {headers: tusVersion, signal})
		return Number(answer.headers.get("Upload-Offset"))
	} catch (error) {
		// All has come, and the name is taken.
		if ([409, 412].includes(error.status)) return record.size
		if (![404, 410].includes(error.status)) throw error
		return records.remove(record) ?? null
	}
}

// Nothing is replaced but what was asked about.
export const conditionOf = ({conflict, tag}) => conflict === "replace" && tag ? {"If-Match": tag} : {"If-None-Match": "*"}

const wishOf = ({conflict}) => `conflict ${btoa(conflict ?? "fail")}`

const base64 = encoded => btoa(unescape(encoded))

async function create(item) {
	const answer = await request("POST", apiAddress("uploads"), {signal: item.abort.signal, headers: {...tusVersion, ...conditionOf(item),
		"Upload-Length": item.size, "Upload-Metadata": [`path ${base64(parentOf(item.href))}`, `filename ${base64(lastOf(item.href))}`, `lastModified ${btoa(item.file.lastModified)}`, wishOf(item)].join()}})
	const {pathname} = new URL(answer.headers.get("Location"), location.href)
	await records.put(item, pathname)
	return pathname
}

export async function sendResumable(item, report) {
	const {signal} = item.abort, record = records.get(item)
	let offset = record ? await offsetOf(record, signal) : null
	const url = offset === null ? await create(item) : record.url
	for (;;) {
		const from = offset ?? 0, end = Math.min(item.size, from + pieceSize)
		report(from)
		const answer = await send("PATCH", url, {signal, body: item.file.slice(from, end), headers: {...tusVersion, "Upload-Offset": from,
			"Content-Type": "application/offset+octet-stream", ...(end === item.size && wantDigest),
			...(item.conflict && {...conditionOf(item), "Upload-Metadata": wishOf(item)})}, report: sent => report(from + Math.min(sent, end - from))})
		offset = Number(answer.headers.get("Upload-Offset") ?? end)
		if (offset >= item.size) return answer
	}
}
