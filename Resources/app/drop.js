// All that a drag tells, in small letters.
const internalType = `application/x-shareserve;${location.origin}${base}`.toLowerCase()

function watchDrop() {
	const text = h("p"), overlay = h("div.drop-overlay", {hidden: true}, h("div.drop-card", icon("upload"), text))
	document.body.append(overlay)
	let marked, leaving
	const mark = element => {
		marked?.classList.remove("drop-target")
		element?.classList.add("drop-target")
		marked = element
	}
	const targetOf = event => {
		const element = list.folderAt(event.target) ?? event.target.closest?.("nav a")
		return {element, href: element?.entry?.href ?? element?.dataset.folder ?? app.href}
	}
	const clear = () => {
		overlay.hidden = true
		mark(null)
	}
	const brings = (event, type) => event.dataTransfer.types.includes(type), copies = event => event.ctrlKey || event.altKey

	addEventListener("dragover", event => {
		const inside = brings(event, internalType)
		if (!inside && !brings(event, "Files") || topDialog()) return
		claim(event)
		clearTimeout(leaving)
		const {element, href} = targetOf(event), allowed = inside ? element && href !== app.href : canCreate()
		event.dataTransfer.dropEffect = !allowed ? "none" : inside && !copies(event) ? "move" : "copy"
		mark(allowed ? element : null)
		overlay.hidden = inside
		text.replaceChildren(...(allowed ? [t("Upload to"), " ", h("strong", folderName(href))] : [t("You may not do this here")]))
	})
	// WebKit names no element that is entered.
	addEventListener("dragleave", event => { if (!event.relatedTarget) leaving = setTimeout(clear, 150) })
	addEventListener("dragend", clear)
	addEventListener("drop", event => {
		const {element, href} = targetOf(event), inside = brings(event, internalType)
		clear()
		if (!inside && !brings(event, "Files")) return
		claim(event)
		if (inside) {
			if (!element || href === app.href) return
			const items = event.dataTransfer.getData(internalType).split("\n").map(one => ({href: one, name: nameOf(one), isFolder: one.endsWith("/")}))
			place(copies(event) ? "COPY" : "MOVE", items, href).catch(fail)
		} else if (!canCreate()) {
			fail(new ApiError(403))
		} else {
			// All before the event is over.
			const items = [...event.dataTransfer.items].filter(item => item.kind === "file").map(item => ({
				entry: item.webkitGetAsEntry?.(), file: item.getAsFile(), handle: item.getAsFileSystemHandle?.().catch(() => null)}))
			uploadFrom("drop", href, items)
		}
	})
}
