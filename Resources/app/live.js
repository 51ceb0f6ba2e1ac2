let source, pending, again
const changed = new Set()

function follow(href, onopen, since = "") {
	source?.close()
	clearTimeout(again)
	if (document.hidden) return
	source = new EventSource(apiAddress(`events?in=${inQuery(href)}&since=${since}`))
	source.onopen = onopen
	source.onerror = ({target}) => {
		target.onopen = refresh
		// A restart takes less.
		setTimeout(() => target.readyState === 1 || app.listing.failure || refresh(), target.readyState < 2 ? 5000 : 0)
		// An error ends it: a proxy's while the server starts, or no folder.
		if (target.readyState === 2) again = setTimeout(follow, 15_000, href, refresh)
	}
	source.addEventListener("changed", event => {
		for (const name of JSON.parse(event.data).names ?? ["/"]) touch(name)
	})
	source.addEventListener("uploads", event => showOthers(JSON.parse(event.data)))
}

export function touch(name) {
	changed.add(name)
	later()
}

const later = () => { pending ??= setTimeout(takeOver, 200 + app.listing.entries.size / 40) }

async function takeOver() {
	const {listing, href} = app, names = [...changed]
	pending = null
	// A reading may have passed what has changed since.
	if (reads) return later()
	changed.clear()
	if (listing.isSearch) return
	app.onRemoteChange(names)
	if (names.includes("/") || names.length > 50) return refresh()
	const found = []
	try {
		await readEntries(`${address(href)}?json${names.map(name => "&name=" + encodeName(name)).join("")}`, {onEntries: batch => found.push(...batch)})
	} catch {
		return refresh()
	}
	if (app.listing !== listing) return
	const there = new Set(found.map(raw => raw.name))
	for (const name of names) if (!there.has(name)) listing.remove(name)
	listing.add(found.filter(raw => names.includes(raw.name)))
	arrange()
}

function showOthers(uploads) {
	// A page that was left leaves its own to this one.
	const own = new Set([...app.uploads, ...Object.values(memory.get("uploads", {}))].map(({href}) => href && pathOf(href)))
	const others = uploads.filter(({path}) => !own.has(path))
	app.others.hidden = !others.length
	app.others.replaceChildren(...others.slice(0, 5).map(({name, size, offset}) => h("p.strip", icon("upload"), h("span",
		t("Somebody is uploading “{name}”: {done}", {name: shown(name), done: size ? formatShare(offset / size) : formatSize(offset)})))))
}

addEventListener("visibilitychange", () => {
	if (!app.listing) return
	if (!document.hidden) refresh()
	follow(app.href)
})
