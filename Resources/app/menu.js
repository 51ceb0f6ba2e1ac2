let openMenu = null

function closeMenu(giveFocusBack) {
	openMenu?.element.remove()
	if (giveFocusBack) focusOn(openMenu?.before)
	openMenu = null
}

function showMenu(items, x, y, label) {
	closeMenu()
	const element = h("div.menu", {role: "menu", label}, items.map(item => (item ? h("button", {className: item.kind ?? "", tabIndex: -1,
		role: "menuitem", onclick: () => { closeMenu(true); item.run() }}, icon(item.icon), h("span", item.label),
	item.keys && h("kbd", {ariaHidden: "true"}, item.keys)) : h("hr"))))
	const choices = [...element.querySelectorAll("button")]
	openMenu = {element, before: focused()}
	document.querySelector("main").append(element)
	const {width, height} = boxOf(element), fit = (at, most) => Math.max(8, Math.min(at, most - 8))
	const top = y * 2 < innerHeight ? y : fit(y, innerHeight - height)
	element.style = `left:${fit(document.dir === "rtl" ? x - width : x, innerWidth - width)}px;top:${top}px;max-height:${innerHeight - top - 8}px`
	element.addEventListener("keydown", event => {
		const at = choices.indexOf(focused())
		const next = {ArrowDown: at + 1, ArrowUp: at + choices.length - 1, Home: 0, End: choices.length - 1}[event.key]
		if (next !== undefined) choices[next % choices.length].focus()
		else if (event.key === "Escape" || event.key === "Tab") closeMenu(true)
		else return
		claim(event)
		event.stopPropagation()
	})
	focusOn(choices[0])
}

addEventListener("pointerdown", event => { if (!openMenu?.element.contains(event.target)) closeMenu() }, true)
addEventListener("scroll", () => closeMenu(true))
