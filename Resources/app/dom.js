// Part of app.js: building elements. Text goes in as text; nothing here reads markup.

/** An element: `h("p.note", { id }, "text", [children])`; what is null or false is left out, and so may be the properties. */
export function h(tag, properties, ...children) {
	const [name, ...classes] = tag.split(".");
	const element = document.createElement(name);
	if (name === "button") element.type = name;
	if (classes.length) element.className = classes.join(" ");
	if (properties?.constructor !== Object) {
		children.unshift(properties);
		properties = {};
	}
	for (const [key, value] of Object.entries(properties)) {
		if (value === undefined || value === null || value === false) continue;
		if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
		else if (key in element) element[key] = value;
		else element.setAttribute(key, value);
	}
	element.append(...children.flat(Infinity).filter((child) => child || child === 0));
	return element;
}

export function svg(tag, attributes, ...children) {
	const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
	for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
	element.append(...children);
	return element;
}

export const icon = (name) => svg("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": true }, svg("use", { href: "#i-" + name }));

/** A button with an icon; one of kind "compact" keeps its label for those who hear the page. */
export function button(label, iconName, onclick, { kind = "", ...rest } = {}) {
	return h("button", { className: "button " + kind, title: kind.includes("compact") ? label : undefined, onclick, ...rest },
		iconName && icon(iconName), h("span.label", label));
}

export const iconButton = (label, iconName, onclick, { kind = "", ...rest } = {}) =>
	button(label, iconName, onclick, { kind: "compact " + kind, ...rest });

export const field = (label, input) => h("label.field", h("span", label), input);

const toasts = h("div.toasts", { role: "status", "aria-label": t("Messages") });

/** A short message in the live region, with at most one thing to do about it. */
export function toast(text, { action, run, kind = "", seconds = 8 } = {}) {
	let timer;
	const stop = () => clearTimeout(timer);
	const wait = () => { timer = setTimeout(() => item.remove(), seconds * 1000); };
	const close = () => { stop(); item.remove(); };
	const item = h("div.toast", { onpointerenter: stop, onpointerleave: wait, onfocusin: stop, onfocusout: wait }, h("span", text),
		action && button(action, null, () => { close(); run(); }), iconButton(t("Close"), "close", close));
	if (kind) item.classList.add(kind);
	// A modal dialog makes the rest of the page inert: the region moves into the topmost one.
	const top = [...document.querySelectorAll("dialog[open]")].at(-1) ?? document.body;
	if (toasts.parentNode !== top) top.append(toasts);
	toasts.append(item);
	if (toasts.childElementCount > 4) toasts.firstElementChild.remove();
	wait();
}

export function placeToasts(from) {
	if (!from || toasts.parentNode === from) document.body.append(toasts);
}

export const fail = (error) => {
	if (error.name !== "AbortError") toast(error.message, { kind: "bad", seconds: 15 });
};

/** A modal dialog, named by its title, gone from the document once closed. `keep`: only an answer closes it. */
export function dialog(title, { kind = "", onclose, keep } = {}) {
	const heading = h("h2", { id: "d" + Math.random() }, title);
	const body = h("div.dialog-body");
	const buttons = h("div.dialog-buttons");
	const before = document.activeElement;
	const element = h("dialog.dialog", { "aria-labelledby": heading.id, onclose: () => {
		placeToasts(element);
		element.remove();
		if (before?.isConnected) before.focus({ preventScroll: true });
		onclose?.(element.returnValue);
	}, oncancel: (event) => { if (keep) event.preventDefault(); }, onkeydown: (event) => {
		if (keep && event.key === "Escape") event.preventDefault();
		event.stopPropagation();
	} }, h("div.dialog-head", heading, !keep && iconButton(t("Close"), "close", () => element.close())), body, buttons);
	if (kind) element.classList.add(kind);
	document.body.append(element);
	return { element, body, buttons, show: () => element.showModal(), close: (value) => element.close(value) };
}

export function confirm(title, text, yes) {
	return new Promise((resolve) => {
		const box = dialog(title, { onclose: (value) => resolve(value === "yes") });
		box.element.setAttribute("role", "alertdialog");
		box.body.append(h("p", text));
		box.buttons.append(button(t("Cancel"), null, () => box.close()), button(yes, null, () => box.close("yes"), { kind: "danger", autofocus: true }));
		box.show();
	});
}

/** Asks for a name, its stem selected. Resolves to null when given up. */
export function askName(title, value, isFolder) {
	return new Promise((resolve) => {
		let answer = null;
		const input = h("input", { type: "text", value, autocomplete: "off", spellcheck: false, required: true });
		const form = h("form", { method: "dialog", onsubmit: (event) => {
			event.preventDefault();
			answer = input.value;
			box.close();
		} }, field(t("Name"), input));
		const box = dialog(title, { onclose: () => resolve(answer) });
		box.body.append(form);
		box.buttons.append(button(t("Cancel"), null, () => box.close()), button(t("Create"), null, () => form.requestSubmit(), { kind: "primary" }));
		box.show();
		input.focus();
		input.setSelectionRange(0, stemLength(value, isFolder));
	});
}

/** Where the extension of a name begins; folders and dotfiles have none. */
function stemLength(name, isFolder) {
	const dot = name.lastIndexOf(".");
	if (isFolder || dot <= 0) return name.length;
	return /\.tar$/i.test(name.slice(0, dot)) ? dot - 4 : dot;
}
