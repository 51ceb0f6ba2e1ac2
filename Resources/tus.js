// Sending: one request that reports its progress, and on it resumable uploads by the tus protocol, version 1.0.

import {apiAddress, ApiError, isPlain, lastOf, memory, parentOf, request, wantDigest} from "./app.js"

export const tusVersion = {"Tus-Resumable": "1.0.0"}
const pieceSize = 64 << 20
/** A connection on which nothing moves for so long is lost. */
const patience = 45_000

/** Resolves to { status, header(name) }. fetch can't say how much of a body is on the way. */
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
			// Once all is sent, the server may take its time to put it in place.
			wait(loaded === total ? patience * 20 : patience)
			report(loaded)
		}
		request.onload = () => {
			const header = name => request.getResponseHeader(name)
			if (request.status < 300) resolve({status: request.status, header})
			else reject(new ApiError(request.status, isPlain(header("Content-Type")) && request.responseText))
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

/** Handles of files, kept by browsers that have them, in a small database; elsewhere nothing. */
function handles(mode, work) {
	return new Promise(resolve => {
		const opening = indexedDB.open("shareserve")
		opening.onupgradeneeded = () => opening.result.createObjectStore("handles")
		opening.onerror = () => resolve()
		opening.onsuccess = () => {
			const asked = work(opening.result.transaction("handles", mode).objectStore("handles"))
			asked.onsuccess = asked.onerror = () => resolve(asked.error ? null : asked.result)
		}
	}).catch(() => {})
}

function change(work) {
	const all = memory.get("uploads", {})
	work(all)
	memory.set("uploads", all)
}

/** Uploads under way, by what makes a file the same file: its name, size, time and target. */
export const records = {
	keyOf: item => JSON.stringify([item.name, item.size, item.file?.lastModified ?? item.mtime, item.target, item.folder]),
	get: item => memory.get("uploads", {})[item.key],
	async put(item, url) {
		const {key, name, size, target, folder, href, file} = item
		change(all => { all[key] = {url, key, name, size, target, folder, href, mtime: file.lastModified, at: Date.now()} })
		const handle = await item.handle
		if (handle) await handles("readwrite", store => store.put(handle, key))
	},
	remove(item) {
		if (!records.get(item)) return
		change(all => { delete all[item.key] })
		handles("readwrite", store => store.delete(item.key))
	},
	touch: (item, at = Date.now()) => change(all => { if (all[item.key]) all[item.key].at = at }),
	/** The page goes away: its records are free for the next one. */
	letGo: items => items.forEach(item => records.touch(item, 0)),
	/** Those that the server still knows and no other page is at work on. */
	async unfinished() {
		const found = []
		for (const record of Object.values(memory.get("uploads", {}))) {
			if (Date.now() - record.at < 15_000) continue
			try {
				record.offset = await offsetOf(record.url)
				record.handle = await handles("readonly", store => store.get(record.key))
				found.push(record)
			} catch (error) {
				if (error.status === 404 || error.status === 410) records.remove(record)
			}
		}
		return found
	},
}

async function offsetOf(url, signal) {
	const answer = await request("HEAD", url, {headers: tusVersion, signal})
	return Number(answer.headers.get("Upload-Offset"))
}

/** The bytes of a percent-encoded name, whatever they are, in base64. */
const base64 = encoded => btoa(unescape(encoded))

async function create(item) {
	const metadata = [`path ${base64(parentOf(item.href))}`, `filename ${base64(lastOf(item.href))}`, `mtime ${btoa(item.file.lastModified)}`,
		`conflict ${btoa(item.conflict === "replace" ? "replace" : "fail")}`]
	const answer = await request("POST", apiAddress("uploads"), {signal: item.abort.signal, headers: {...tusVersion,
		"Upload-Length": item.size, "Upload-Metadata": metadata.join()}})
	const {pathname} = new URL(answer.headers.get("Location"), location.href)
	await records.put(item, pathname)
	return pathname
}

/** Sends a file, from where an earlier attempt came to. Resolves to the last answer. */
export async function sendResumable(item, report) {
	const {signal} = item.abort
	let url = records.get(item)?.url, offset = 0
	if (url) {
		try {
			offset = await offsetOf(url, signal)
		} catch (error) {
			if (error.status !== 404 && error.status !== 410) throw error
			records.remove(item)
			url = null
		}
	}
	url ??= await create(item)
	for (;;) {
		report(offset)
		const from = offset, end = Math.min(item.size, offset + pieceSize)
		let touched = Date.now()
		const answer = await send("PATCH", url, {signal, body: item.file.slice(from, end), headers: {...tusVersion, "Upload-Offset": from,
			"Content-Type": "application/offset+octet-stream", ...(end === item.size && wantDigest)}, report: sent => {
			report(from + Math.min(sent, end - from))
			if (Date.now() - touched < 5000) return
			touched = Date.now()
			records.touch(item)
		}}).catch(error => {
			// An offset that does not fit is no conflict of names: ask again where we are.
			throw error.status === 409 ? new ApiError(0) : error
		})
		offset = Number(answer.header("Upload-Offset") ?? end)
		if (offset >= item.size) return answer
	}
}
