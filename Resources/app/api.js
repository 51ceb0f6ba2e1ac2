// Part of app.js: talking to the server. An `href` is the percent-encoded path of a file or folder below `base`.

/** An answer that says no, in words for people. `status` 0: no answer came. */
export class ApiError extends Error {
	constructor(status, text) {
		super(messageFor(status, text?.trim() ?? ""));
		this.status = status;
	}
}

function messageFor(status, text) {
	if (text && text.length < 400 && !text.startsWith("<")) return text;
	const known = { 0: "The server does not answer", 401: "Log in to do this", 403: "You may not do this here", 404: "It is not there any more",
		412: "It was changed by somebody else", 413: "Too large for this server", 423: "Somebody has locked it", 507: "The disk is full" };
	return known[status] ? t(known[status]) : t("The server answered {status}", { status: String(status) });
}

export const encodeName = (name) => encodeURIComponent(name.toWellFormed?.() ?? name);

export function decodeName(encoded) {
	try {
		return decodeURIComponent(encoded);
	} catch {
		return unescape(encoded);
	}
}

export const pathOf = (href) => href.split("/").map(decodeName).join("/");
export const parentOf = (href) => href.replace(/[^/]+\/?$/, "") || "/";
export const lastOf = (href) => href.replace(/\/$/, "").split("/").at(-1);
export const nameOf = (href) => decodeName(lastOf(href));
export const childOf = (folder, name, isFolder) => folder + encodeName(name) + (isFolder ? "/" : "");
export const address = (href) => base + href;
export const apiAddress = (rest) => `${base}/.shareserve/${rest}`;

export async function request(method, target, { headers, body, signal, json } = {}) {
	let answer;
	try {
		answer = await fetch(target, { method, signal, cache: "no-cache", body: json ? JSON.stringify(json) : body,
			headers: json ? { "Content-Type": "application/json" } : headers });
	} catch (error) {
		throw error.name === "AbortError" ? error : new ApiError(0);
	}
	if (answer.ok) return answer;
	const plain = answer.headers.get("Content-Type")?.startsWith("text/plain");
	throw new ApiError(answer.status, plain ? await answer.text() : "");
}

/**
 * Reads a listing or a search line by line: `onHead` gets what stands before the entries, `onEntries` each batch.
 * An answer that ends before its closing line was cut: an error, not a short folder.
 */
export async function readEntries(target, { onHead, onEntries, signal }) {
	const answer = await request("GET", target, { headers: { Accept: "application/json" }, signal });
	const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
	let head = false, whole = false, rest = "";
	const take = (lines) => {
		const batch = [];
		for (const line of lines) {
			const text = line.trim();
			if (!text) continue;
			if (!head) {
				head = true;
				whole = /\]\s*\}$/.test(text);
				const first = JSON.parse(whole ? text : text + "]}");
				onHead?.(first);
				batch.push(...first.entries);
			} else if (text.startsWith("]")) whole = true;
			else batch.push(JSON.parse(text.endsWith(",") ? text.slice(0, -1) : text));
		}
		if (batch.length) onEntries(batch);
	};
	for (;;) {
		const { done, value } = await reader.read();
		if (done) break;
		const lines = (rest + value).split("\n");
		rest = lines.pop();
		take(lines);
	}
	take([rest]);
	if (!whole) throw new ApiError(0);
}

/** MOVE or COPY; 412 when the name is taken and may not be overwritten. */
const transferEntry = (method, from, to, overwrite) => request(method, address(from), {
	headers: { Destination: location.origin + address(to), Overwrite: overwrite ? "T" : "F", Depth: "infinity" } });

export const makeFolder = (href) => request("MKCOL", address(href));

export async function remoteDigest(href, signal) {
	const answer = await request("HEAD", address(href), { headers: { "Want-Repr-Digest": "sha-256=10" }, signal });
	return digestIn(answer.headers.get("Repr-Digest"));
}

export const digestIn = (header) => /sha-256=:([^:]+):/.exec(header)?.[1] ?? null;

/** `name (2).txt`: the n-th name beside a taken one. */
export function numbered(name, n, isFolder) {
	const end = stemLength(name, isFolder);
	return `${name.slice(0, end)} (${n})${name.slice(end)}`;
}
