const pageTitle = info.title || "shareserve"
export const view = {mode: "list", sort: "name", descending: false, hidden: false, ...memory.get("view", {})}

const crumbs = h("nav.crumbs", {label: t("Breadcrumbs")}), bar = h("div.bar", {role: "toolbar", label: t("Actions")})
const filter = textInput({type: "search", className: "filter", placeholder: t("Filter this folder"), label: t("Filter this folder"), oninput: () => {
	if (app.listing.isSearch) return
	app.listing.filter = filter.value
	scrollTo(0, 0)
	arrange()
}, onkeydown: event => {
	if (event.isComposing) return
	if (event.key === "Enter") search(filter.value)
	else if (event.key === "Escape") clearFind()
	if (["Escape", "ArrowDown"].includes(event.key)) {
		claim(event)
		list.setFocused(0, true)
		filter.blur()
	}
}})
const find = h("div.find", {role: "search"}, filter, button(t("Search subfolders"), "search", () => search(filter.value)))
const banner = h("div.banner.strip", {role: "alert", hidden: true}), state = h("div.state", {hidden: true})
const summary = h("p.summary", {ariaLive: "polite"}), searching = h("div.searching.strip", {role: "status", hidden: true})
const tools = h("div.tools")
const skip = h("a.skip", {href: "#files", onclick: event => {
	claim(event)
	list.setFocused(list.focused, true)
}}, t("Skip to the files"))
app.others = h("div.others", {hidden: true})

export const list = new ListView({open: entry => app.openEntry(entry), menu: (x, y) => showMenu(menuItems("selection", "clipboard"), x, y, t("Actions")),
	sort: column => setView(view.sort === column ? {descending: !view.descending} : {sort: column, descending: false})})

const folderMenu = () => menuItems("folder", "view", "more", "session")

function menuAtFocus() {
	const row = focused().closest("tr"), {left, top, bottom} = boxOf(row ?? list.element)
	if (row?.entry) list.openMenu(row, {left: left + 48, bottom})
	else showMenu(folderMenu(), left + 48, top + 48, t("Actions"))
}

function updateBar() {
	const {listing} = app, count = listing.selection.size
	const usable = (count ? inScope("selection", "clipboard") : inScope("folder")).filter(one => !one.menuOnly && (one.can() || one.id === "rename" && canDelete()))
	const signature = [count > 0, ...usable.map(one => one.id + Boolean(one.can()))].join()
	if (bar.signature !== signature) {
		bar.signature = signature
		bar.classList.toggle("selecting", count > 0)
		bar.replaceChildren(...(count ? [iconButton(t("Clear selection"), "close", () => run(action("close"))), h("span.count")] : []),
			...usable.map(one => buttonFor(one, {kind: one.kind, disabled: !one.can(),
				title: t(one.label) + (one.keys[0] ? ` (${keyLabel(one.keys[0])})` : "")})))
		fitBar()
	}
	if (count) bar.querySelector(".count").textContent = t("{n} selected", {n: count})
}

// One line always: nothing below may jump.
function fitBar() {
	bar.classList.remove("tight")
	bar.classList.toggle("tight", bar.scrollWidth > bar.clientWidth)
}

function updateTools() {
	const grid = view.mode === "grid"
	const tool = (id, kind, label = t(action(id).label, info), iconName = action(id).icon) => iconButton(label, iconName, () => run(action(id)), {kind})
	const more = iconButton(t("More"), "more", () => {
		const {left, bottom} = boxOf(more)
		showMenu(folderMenu(), left, bottom + 4, t("More"))
	}, {ariaHasPopup: "menu"})
	tools.replaceChildren(tool("qr"), tool("grid", "", t(grid ? "Show as list" : "Show as grid"), grid ? "list" : "grid"), tool("keyboard", "wide-only"),
		info.canLogOut ? tool("logOut", "wide-only") : "", more)
}

function updateCrumbs() {
	const parts = app.href.split("/").filter(Boolean)
	crumbs.replaceChildren(h("ol", ["", ...parts].map((part, i) => {
		const href = "/" + parts.slice(0, i).map(one => one + "/").join("")
		return h("li", h("a", {href: address(href), ariaCurrent: i === parts.length && "page", "data-folder": href, onclick: event => {
			if (hasCtrl(event) || event.shiftKey) return
			claim(event)
			open(href)
		}}, !i && icon("home"), h("bdi", i ? shown(decodeName(part)) : pageTitle)))
	})))
	app.folderTitle = parts.length ? `${shown(nameOf(app.href))} – ${pageTitle}` : pageTitle
	if (!app.titlePrefix) document.title = app.folderTitle
}

function arrange() {
	const {listing} = app
	list.show(listing, view)
	const folders = listing.visible.filter(entry => entry.isFolder).length, files = listing.visible.length - folders
	const bytes = listing.visible.reduce((sum, entry) => sum + Math.max(0, entry.size), 0)
	summary.textContent = listing.failure ? "" : listing.loading ? t("Loading…") : joined(folders && t("{n} folder{s}", {n: folders}), t("{n} file{s}", {n: files}),
		bytes && formatSize(bytes), listing.hiddenCount && t("{n} hidden", {n: listing.hiddenCount}))
	showState(stateOf(listing))
	updateBar()
}

function stateOf({failure = null, loading, visible, isSearch, filter, hiddenCount}) {
	if (failure || loading || visible.length) return failure
	if (isSearch || filter) return "noMatch"
	if (!canRead()) return may("create") ? "dropBox" : "forbidden"
	if (hiddenCount) return "onlyHidden"
	return "empty"
}

const states = {
	empty: ["folder", "This folder is empty", "Drop files here, or use the buttons."],
	dropBox: ["upload", "You can send files here", "What is here already is not shown to you."],
	forbidden: ["lock", "You may not see this folder", "", "logIn"],
	notFound: ["search", "There is nothing at this address", "", "home"],
	offline: ["retry", "The server does not answer", "", "retry"],
	noMatch: ["search", "No name matches", "", "close"],
	onlyHidden: ["eye", "Only hidden files here", "", "hidden"],
}

const buttonFor = (one, properties) => button(t(one.label, info), one.icon, () => run(one), properties)

// The listing that somebody chose to log in over.
let covered

async function showState(kind, over = covered) {
	// Nobody loses what they type.
	if (!state.hidden && state.querySelector("form") && (["login", "offline"].includes(kind) || over === app.listing)) return
	covered = over
	list.element.hidden = kind !== null
	state.hidden = kind === null
	if (kind === "login") {
		state.replaceChildren(await ask("loginForm"))
		return isField(focused()) || focusOn(state.querySelector("input"))
	}
	const [iconName, title, words, id] = states[kind] ?? []
	return state.replaceChildren(...(title ? [icon(iconName), h("h2", t(title)), h("p", canCreate() && t(words)),
		action(id)?.can() ? buttonFor(action(id), {kind: "primary"}) : ""] : []))
}

function setView(change) {
	Object.assign(view, change)
	memory.set("view", view)
	if (change.mode) list.clear()
	updateTools()
	arrange()
}

function setOffline(offline) {
	if (banner.hidden === offline) banner.replaceChildren(icon("retry"), h("span", t("The server does not answer")), buttonFor(action("retry")))
	banner.hidden = !offline
}

const failures = {401: "login", 403: "forbidden", 404: "notFound"}
let reading, reads = 0

async function load(href, inlined) {
	reading?.abort()
	reading = Object.assign(new AbortController(), {href})
	const listing = new Listing(href)
	const show = () => {
		if (app.listing !== listing) {
			app.href = href
			app.listing = listing
			updateCrumbs()
		}
		arrange()
	}
	let drawn = -Infinity
	reads++
	const onEntries = batch => {
		listing.add(batch)
		if (performance.now() - drawn < Math.max(100, listing.entries.size / 50)) return
		show()
		drawn = performance.now()
	}
	try {
		if (inlined) {
			listing.rights = new Set(inlined.rights)
			onEntries(inlined.entries)
			if (!boot.isWhole) await after(50)
		}
		if (!inlined || !boot.isWhole) await listing.read(onEntries, reading.signal)
		setOffline(false)
	} catch (error) {
		if (error.name === "AbortError") return
		listing.failure = failures[error.status] ?? "offline"
	} finally {
		reads--
	}
	listing.loading = false
	show()
	listing.end(!listing.failure)
}

async function open(href, {replace, scroll = 0} = {}) {
	const from = app.href
	crumbs.scrollLeft = 0
	clearFind(true)
	if (!replace) {
		history.replaceState({scroll: scrollY}, "")
		history.pushState(null, "", address(href))
	}
	const done = load(href)
	scrollTo(0, 0)
	follow(href)
	await done
	scrollTo(0, scroll)
	if (replace) openFromHash()
	if (from !== href && parentOf(from) === href) list.focusEntry(nameOf(from))
	else holdFocus()
}

export async function refresh() {
	const done = readAgain()
	// Nobody waits for a search.
	if (!app.listing.isSearch) await done
}

async function readAgain() {
	const {listing, href} = app
	if (listing.failure) return void load(href)
	if (listing.loading) return
	const fresh = []
	reads++
	try {
		await listing.read(batch => fresh.push(...batch))
	} catch (error) {
		if (!error.status || error.status > 499) setOffline(true)
		else if (app.listing === listing) load(href)
		return
	} finally {
		reads--
	}
	setOffline(false)
	listing.replaceAll(fresh)
	if (app.listing === listing) (listing.draw ?? arrange)()
}

app.openEntry = async (entry, options) => entry && (entry.isFolder ? open(entry.href)
	: bring("preview").then(({openPreview}) => openPreview(entry, options), fail))

function clear() {
	if (app.listing.selection.size) app.listing.selectOnly([])
	else if (filter.value || app.listing.isSearch) clearFind()
}

async function clearFind(quiet) {
	const {isSearch} = app.listing
	filter.value = app.listing.filter = ""
	searchAbort?.abort()
	searching.hidden = true
	if (quiet) return
	if (location.hash.startsWith("#search=")) history.replaceState(history.state, "", location.pathname)
	if (isSearch) await load(app.href)
	else arrange()
	holdFocus()
}

let searchAbort

async function search(words) {
	const term = words.trim()
	if (!term) return filter.select()
	searchAbort?.abort()
	reading?.abort()
	const abort = searchAbort = new AbortController()
	const found = Object.assign(new Listing(app.href), {isSearch: `#search=${encodeName(term)}`, rights: app.listing.rights})
	app.listing = found
	filter.value = words
	history.replaceState(history.state, "", location.pathname + found.isSearch)
	let drawn = 0
	const draw = found.draw = () => {
		if (app.listing !== found) return
		drawn = performance.now()
		arrange()
		searching.hidden = false
		searching.replaceChildren(h("span", joined(found.loading && t("Loading…"), t("{n} found for “{term}”", {n: found.visible.length, term: shown(term)}),
			found.more && t("More names match: narrow the search"))),
		found.loading ? button(t("Cancel"), "close", () => abort.abort()) : button(t("Close"), "close", () => clearFind()))
	}
	found.read = async (onEntries, signal) => {
		const tail = await readEntries(apiAddress(`search?in=${inQuery(found.href)}&q=${encodeName(term)}`), {onEntries, signal})
		found.more = tail.includes("more")
	}
	draw()
	const isWhole = await found.read(batch => {
		found.add(batch)
		if (performance.now() - drawn > 150) draw()
	}, abort.signal).then(() => true, fail)
	found.loading = false
	draw()
	found.end(isWhole)
}

function build() {
	const main = h("main", {oncontextmenu: event => {
		if (event.target.closest("a, input, button")) return
		claim(event)
		showMenu(folderMenu(), event.clientX, event.clientY, t("Actions"))
	}}, h("div.commands", bar), banner, app.others, searching, state, list.element)
	document.getElementById("app").append(skip, h("header.top", h("h1.quiet", pageTitle), crumbs, find, tools), info.header ? h("p.note", info.header) : "",
		main, h("footer.foot", summary, info.footer && h("p", info.footer)), ...makeInputs())
}

addEventListener("popstate", event => {
	const href = location.pathname.slice(base.length) || "/"
	closeMenu()
	const moved = href !== reading?.href
	if (app.onAddress() && !moved) return
	if (moved || (app.listing.isSearch ?? location.hash) !== location.hash) open(href, {replace: true, scroll: event.state?.scroll})
	else openFromHash()
})
addEventListener("offline", () => setOffline(true))
addEventListener("online", refresh)
addEventListener("resize", fitBar)

async function openFromHash() {
	const [, kind, value] = /^#(view|search)=(.*)$/.exec(location.hash) ?? []
	if (kind === "view") await app.openEntry(app.listing.get(decodeName(value)), {fromAddress: true})
	else if (kind === "search" && location.hash !== app.listing.isSearch) await search(decodeName(value))
}

async function start() {
	history.scrollRestoration = "manual"
	app.href = location.pathname.slice(base.length).replace(/[^/]*$/, "") || "/"
	build()
	placeToasts()
	updateTools()
	watchKeys()
	watchPaste()
	watchDrop()
	const failure = failures[boot.status]
	app.listing = new Listing(app.href)
	if (failure) {
		Object.assign(app.listing, {failure, loading: false})
		updateCrumbs()
		return arrange()
	}
	await load(app.href, boot.listing)
	scrollTo(0, history.state?.scroll ?? 0)
	addEventListener("pagehide", () => history.replaceState({scroll: scrollY}, ""))
	setTimeout(follow, 0, app.href, null, boot.version)
	if (Object.keys(memory.get("uploads", {})).length) bring("transfer").then(({restore}) => restore(), fail)
	setTimeout(() => { for (const name of ["transfer", "preview", "text"]) bring(name).catch(() => {}) }, 3000)
	return openFromHash()
}

start()
