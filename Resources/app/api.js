// An `href` is the percent-encoded path below `base`.

// `status` 0: no answer came.
export class ApiError extends Error {
	constructor(status, text) {
		super(messageFor(status, text))
		this.status = status
	}
}

function messageFor(status, text) {
	const known = {0: "The server does not answer", 400: "This won't do", 401: "Log in again", 403: "You may not do this here", 404: "It is not there any more", 410: "This link has no downloads left",
		412: "It was changed by somebody else", 413: "Too large for this server", 423: "Somebody has locked it", 507: "The disk is full"}
	known[409] = known[404]
	// The server speaks English.
	if (text && text.length < 400 && (boot.language === "en" || !known[status])) return text.trim()
	return joined(t(known[status] ?? "The server answered {status}", {status}), /end in (.+) here/.exec(text)?.[1])
}

export const encodeName = name => encodeURIComponent(name.toWellFormed())

// Some names are no text, and shown as Latin-1.
export const decodeName = encoded => tried(() => decodeURIComponent(encoded)) ?? unescape(encoded)
export const inQuery = href => tried(() => encodeName(decodeURIComponent(href))) ?? href
const pathOf = href => href.split("/").map(decodeName).join("/")
export const parentOf = href => href.replace(/[^/]+\/?$/, "") || "/"
export const lastOf = href => href.replace(/\/$/, "").split("/").at(-1)
export const nameOf = href => decodeName(lastOf(href))
export const folderName = href => shown(nameOf(href) || t("Home"))
export const childOf = (folder, name, isFolder) => folder + encodeName(name) + (isFolder ? "/" : "")
export const address = href => base + href
export const apiAddress = rest => `${base}/.shareserve/${rest}`

export const isPlain = answer => answer.headers.get("Content-Type")?.startsWith("text/plain")

export async function request(method, target, {headers, body, signal} = {}) {
	const answer = await fetch(target, {method, signal, cache: "no-cache", body, headers}).catch(error => {
		throw error.name === "AbortError" ? error : new ApiError(0)
	})
	if (answer.ok) return answer
	throw new ApiError(answer.status, isPlain(answer) && await answer.text())
}

export async function api(method, rest, json) {
	const answer = await request(method, apiAddress(rest), json && {body: JSON.stringify(json), headers: {"Content-Type": "application/json"}})
	return answer.status === 204 ? null : answer.json()
}

export const tagOf = answer => answer.headers.get("ETag")

// A line an entry; gives the last line, without which it was cut.
async function readEntries(target, {onHead, onEntries, signal}) {
	const answer = await request("GET", target, {signal}), reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
	let head, tail, rest = ""
	for (;;) {
		const {done, value} = await reader.read()
		if (done) break
		const lines = (rest + value).split("\n")
		rest = lines.pop()
		if (!head && lines.length) {
			head = lines.shift()
			onHead?.(JSON.parse(head + "]}"))
		}
		tail ??= lines.find(line => line.startsWith("]"))
		const entries = lines.filter(line => line.includes("{")).join("")
		if (entries) onEntries(JSON.parse(`[${entries.replace(/^,|,$/g, "")}]`))
	}
	if (!tail) throw new ApiError(0)
	return tail
}

export const makeFolder = href => request("MKCOL", address(href))
export const wantDigest = {"Want-Repr-Digest": "sha-256=10"}
export const digestOf = answer => /sha-256=:([^:]+):/.exec(answer.headers.get("Repr-Digest"))?.[1]

export function numbered(name, n, isFolder) {
	const end = stemLength(name, isFolder)
	return `${name.slice(0, end)} (${n})${name.slice(end)}`
}
