// What others change shows without a reload.

let source, pending
const changed = new Set()

/** Follows the folder shown; a page in the background lets go, and catches up later. */
function follow(href) {
	source?.close()
	if (document.hidden) return
	source = new EventSource(apiAddress("events?in=" + inQuery(href)))
	source.onerror = ({target}) => { target.onopen = app.refresh }
	source.addEventListener("changed", event => {
		for (const name of JSON.parse(event.data).names ?? ["/"]) touch(name)
	})
	source.addEventListener("uploads", event => showOthers(JSON.parse(event.data)))
}

export function touch(name) {
	changed.add(name)
	// A large folder takes longer to read again.
	pending ??= setTimeout(takeOver, 200 + app.listing.entries.size / 40)
}

async function takeOver() {
	const names = [...changed]
	changed.clear()
	pending = null
	const {listing, href} = app
	if (listing.loading || listing.isSearch) return
	app.onRemoteChange(names)
	if (names.includes("/") || names.length > 50) return void app.refresh()
	const found = []
	try {
		await readEntries(`${address(href)}?json${names.map(name => "&name=" + encodeName(name)).join("")}`, {onEntries: batch => found.push(...batch)})
	} catch (error) {
		if (error.status === 404) app.refresh()
		return
	}
	if (app.listing !== listing) return
	const there = new Set(found.map(raw => raw.name))
	for (const name of names) if (!there.has(name)) listing.remove(name)
	listing.add(found.filter(raw => names.includes(raw.name)))
	app.arrange()
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
	if (!document.hidden) app.refresh()
	follow(app.href)
})
