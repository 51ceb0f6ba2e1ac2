// Text goes in as text; nothing here reads markup.

// `h("p.note", {id}, "text", [children])`; null is left out, and false that changes nothing.
export function h(tag, properties, ...children) {
	const [name, ...classes] = tag.split("."), element = document.createElement(name)
	if (name === "button") element.type = name
	if (classes.length) element.className = classes.join(" ")
	if (properties?.constructor !== Object) {
		children.unshift(properties)
		properties = {}
	}
	for (const [key, value] of Object.entries(properties)) {
		if ((value ?? false) === false && element[key] !== true) continue
		if (key.startsWith("on")) element.addEventListener(key.slice(2), value)
		else if (key === "label") element.ariaLabel = value
		else if (key in element) element[key] = value
		else element.setAttribute(key, value)
	}
	for (const child of children.flat(Infinity)) if (child) element.append(child)
	return element
}

const blank = document.querySelector("template").content.firstChild

export function icon(name) {
	const copy = blank.cloneNode(true)
	copy.firstChild.setAttribute("href", "#" + name)
	return copy
}

export const button = (label, iconName, onclick, {kind = "", ...rest} = {}) =>
	h("button", {className: "button " + kind, title: kind.includes("compact") && label, onclick, ...rest}, iconName && icon(iconName), h("span.label", label))

export const iconButton = (label, iconName, onclick, rest) =>
	button(label, iconName, onclick, {...rest, kind: `compact ${rest?.kind ?? ""}`})

export const field = (label, input) => h("label.field", h("span", label), input)

const textInput = properties => h("input", {type: "text", autocomplete: "off", spellcheck: false, ...properties})

const focused = () => document.activeElement

const focusOn = element => element?.focus({preventScroll: true})

export const boxOf = element => element.getBoundingClientRect()

// What an event would do is done here.
export const claim = event => event.preventDefault()

// After what may have taken the focus away: to a button `near`, if any.
export function holdFocus(near) {
	const at = focused()
	if (at === document.body || at.disabled || !at.checkVisibility()) focusOn(topDialog() ?? near?.querySelector("button:not([hidden])") ?? list.rows.get(list.current) ?? bar.querySelector("button:enabled"))
}

export const topDialog = () => [...document.querySelectorAll("dialog[open]")].at(-1)

const toasts = h("div.toasts", {role: "status", label: t("Messages")})

export function toast(text, {action, run, kind = "", seconds = 8} = {}) {
	let timer
	const stop = () => clearTimeout(timer), wait = () => { timer = setTimeout(close, seconds * 1000) }
	const close = event => {
		stop()
		item.remove()
		if (event) holdFocus()
	}
	const item = h("div", {className: "toast " + kind, onpointerenter: stop, onpointerleave: wait, onfocusin: stop, onfocusout: wait}, h("span", text),
		action && button(action, null, event => { close(event); run() }), iconButton(t("Close"), "close", close))
	// A modal dialog makes all else inert.
	const top = topDialog() ?? document.body
	if (toasts.parentNode !== top) top.append(toasts)
	toasts.append(item)
	if (toasts.childElementCount > 4) toasts.firstElementChild.remove()
	wait()
}

export function placeToasts(from) {
	if (!from || toasts.parentNode === from) document.body.append(toasts)
}

export const fail = error => {
	if (error.name !== "AbortError") toast(error.message, {kind: "bad", seconds: 15})
}

// `keep`: only a button closes it.
export function dialog(title, body, buttons = [], {kind = "", keep, ...rest} = {}) {
	const hold = event => { if (keep) claim(event) }
	const box = h("dialog", {className: "dialog " + kind, label: title, tabIndex: -1, closedBy: keep && "none", oncancel: hold, onkeydown: event => {
		if (event.key === "Escape") hold(event)
		event.stopPropagation()
	}, ...rest}, h("div.dialog-head", h("h2", title), !keep && iconButton(t("Close"), "close", () => box.close())),
	h("div.dialog-body", body), h("div.dialog-buttons", buttons))
	box.answer = new Promise(resolve => {
		box.addEventListener("close", () => {
			placeToasts(box)
			box.remove()
			resolve(box.returnValue)
		})
	})
	document.body.append(box)
	box.showModal()
	return box
}

export const closing = (label = t("Cancel"), answer, properties) => button(label, null, () => topDialog().close(answer), properties)

export const confirm = async (title, text, yes) => "yes" === await dialog(title, h("p", text),
	[closing(), closing(yes, "yes", {kind: "danger", autofocus: true})], {role: "alertdialog"}).answer

export const confirmLoss = (title, what, yes = t("Delete")) => confirm(title, joined(what, t("This can't be undone.")), yes)

export const sayTaken = name => t("“{name}” is already there", {name: shown(name)})

export function askName(title, value, isFolder, make) {
	const input = textInput({value, required: true, pattern: ".*\\S.*"}), wrong = h("p.danger", {role: "alert"})
	const form = h("form", {onsubmit: async event => {
		claim(event)
		try {
			await make(checkedName(input.value))
			box.close(input.value)
		} catch (error) {
			wrong.textContent = [405, 412].includes(error.status) ? sayTaken(input.value) : error.message
		}
	}}, field(t("Name"), input), wrong)
	const box = dialog(title, form, [closing(), button(t("Create"), null, () => form.requestSubmit(), {kind: "primary"})])
	input.focus()
	input.setSelectionRange(0, stemLength(value, isFolder))
	return box.answer
}

function stemLength(name, isFolder) {
	const dot = name.lastIndexOf(".")
	if (isFolder || dot <= 0) return name.length
	return /\.tar$/i.test(name.slice(0, dot)) ? dot - 4 : dot
}
