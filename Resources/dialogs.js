import {actions, address, api, apiAddress, ApiError, app, askName, boot, button, childOf, claim, closing, confirmLoss, dialog, fail, field, folderName, formatDate, formatSize, h, holdFocus, icon,
	iconButton, info, inQuery, joined, keyLabel, makeFolder, memory, parentOf, readFolder, refresh, request, restore, sayTaken, shown, t, toast, topDialog, view} from "./app.js"

function side(heading, {name, size, modified, href, file, kind}) {
	const src = file ? URL.createObjectURL(file) : href && address(href)
	const picture = h("div.picture", kind === "image" && (file || !info.counted) ? h("img", {alt: "", src, onload: () => URL.revokeObjectURL(src)}) : icon(kind ?? "file"))
	return h("section", h("h3", heading), picture, h("strong", h("bdi", shown(name))), h("span", size >= 0 && formatSize(size)),
		h("span", modified && formatDate(modified)))
}

// `policy`: one answer for the batch.
export async function askConflict(batch, {ours, theirs = {name: ours.name}, folder, mayReplace}) {
	const all = h("input", {type: "checkbox"})
	const choice = await dialog(sayTaken(theirs.name),
		[h("p", t("Which one do you want in “{folder}”?", {folder: folderName(folder)})),
			h("div.compare", side(t("Already there"), theirs), side(t("New"), ours)), mayReplace && theirs.isFolder && !info.trashDays && h("p.danger", t("Replace deletes all that is in there.")), batch.size > 1 && h("label.choice", all, t("Do this for all conflicts"))],
		[closing(t("Skip"), "skip"), mayReplace && closing(t("Replace"), "replace", {kind: "danger"}),
			closing(t("Keep both"), "keep", {kind: "primary", autofocus: true})], {kind: "wide", keep: true}).answer
	// Giving up is no answer for the others.
	if (choice && all.checked) batch.policy = choice
	return choice || "skip"
}

export function chooseFolder(method, items) {
	let here = app.href
	const moving = method === "MOVE", title = t(moving ? "Move to…" : "Copy to…"), where = h("p", {role: "status"}), tree = h("ul.tree", {label: title})
	const row = (label, target, iconName) => h("li", h("button", {onclick: () => show(target)}, icon(iconName), h("bdi", label)))
	const create = button(t("New folder"), "new-folder", async () => {
		const name = await askName(t("New folder"), t("New folder"), true, typed => makeFolder(childOf(here, typed, true)))
		if (name) show(childOf(here, name, true))
	})
	const go = button(t(moving ? "Move here" : "Copy here"), null, () => box.close(here), {kind: "primary"})

	async function show(href) {
		const listing = await readFolder(href).catch(fail)
		if (!listing) return
		here = href
		const hadFocus = tree.matches(":focus-within")
		where.textContent = folderName(href)
		create.disabled = !listing.may("create")
		go.disabled = create.disabled || (moving && items.every(item => parentOf(item.href) === href))
		const usable = listing.order("name")[0].filter(entry => (view.hidden || !entry.isHidden)
			&& !items.some(item => item.href === entry.href))
		tree.replaceChildren(href === "/" ? "" : row(t("Up one folder"), parentOf(href), "up"),
			...usable.map(entry => row(shown(entry.name), entry.href, "folder")), usable.length ? "" : h("li.note", t("No folders in here")))
		if (hadFocus) tree.querySelector("button")?.focus()
	}

	const box = dialog(title, [where, tree], [create, closing(), go])
	show(here)
	return box.answer
}

// By ids: only the answer that makes a link tells its address.
const known = {}

export function showLinks(href) {
	const rows = h("ul.rows", {label: t("Links")})
	const expires = h("select", [[86400, t("1 day")], [604800, t("1 week")], [2592000, t("30 days")], ["", t("Never")]]
		.map(([value, label]) => h("option", {value, selected: value === 604800}, label)))
	const password = h("input", {autocomplete: "off"}), most = h("input", {type: "number", min: 1}), uploads = h("input", {type: "checkbox"})
	const load = async () => {
		const {items} = await api("GET", "links?path=" + inQuery(href))
		rows.replaceChildren(...items.map(row))
		holdFocus()
	}
	const revoke = async ({id}) => {
		if (await confirmLoss(t("Revoke link"), "", t("Revoke link"))) await api("DELETE", "links?id=" + id).then(load).catch(fail)
	}
	const create = async () => {
		if (!most.reportValidity()) return
		const made = await api("POST", "links", {href: address(href), expires: Number(expires.value) || null,
			upload: uploads.checked, password: password.value || null, maxDownloads: Number(most.value) || null})
		known[made.id] = reachable(made.address)[0]
		await load()
		await copyText(known[made.id])
	}

	function row(item) {
		const target = known[item.id]
		const about = joined(`${t("Expires")}: ${item.expires ? formatDate(item.expires) : t("Never")}`, item.upload && t("Allow uploads"),
			item.password && t("Password"), typeof item.downloadsLeft === "number" && t("{n} download{s} left", {n: item.downloadsLeft}))
		return h("li", h("span", target ? h("a", {href: target, target: "_blank"}, target) : joined(t("Share link"), formatDate(item.created)),
			h("small", about)), target && [iconButton(t("Copy address"), "copy", () => copyText(target)),
			iconButton(t("QR code"), "qr", () => showCode(target))], iconButton(t("Revoke link"), "delete", () => revoke(item), {kind: "danger"}))
	}

	dialog(t("Share “{name}”", {name: folderName(href)}), [h("div.two", field(t("Expires"), expires),
		field(t("Password"), password), field(t("Most downloads"), most), href.endsWith("/") && app.listing.may("create") && h("label.choice", uploads, t("Allow uploads"))),
	h("p", t("A link's address shows once: copy it now.")), rows], button(t("Create link"), "link", () => create().catch(fail), {kind: "primary"}), {kind: "wide"})
	load().catch(fail)
}

// Plain http has no clipboard.
async function copyText(text) {
	try {
		await navigator.clipboard.writeText(text)
	} catch {
		const area = h("textarea.quiet", {value: text})
		topDialog().append(area)
		area.select()
		const done = document.execCommand("copy")
		area.remove()
		if (!done) return
	}
	toast(t("Address copied"), {seconds: 3})
}

// "localhost" means nothing to a phone.
function reachable(address) {
	const {href, pathname} = new URL(address, location.origin), all = [href, ...info.addresses ?? []].map(one => new URL(pathname, one))
	return [...new Set([...all.filter(({host}) => !/^(localhost|127\.|\[::1\])/.test(host)), ...all].map(url => url.href))]
}

export function showCode(address) {
	const choices = reachable(address), image = h("img.qr", {alt: t("QR code"), onerror: () => fail(new ApiError(413))})
	const text = h("input", {readOnly: true, label: t("Address")})
	const show = one => {
		text.value = one
		image.src = apiAddress("qr?text=" + encodeURIComponent(one))
	}
	show(choices[0])
	dialog(t("QR code"), [image, h("div.address", text, iconButton(t("Copy address"), "copy", () => copyText(text.value))),
		choices.length > 1 && h("select", {label: t("Address"), onchange: event => show(event.target.value)}, choices.map(value => h("option", value)))])
}

export function showTrash() {
	const rows = h("ul.rows"), end = h("p")
	let items = []
	const erase = async (title, which, what) => await confirmLoss(title, what) && api("DELETE", "trash" + which).then(load).catch(fail)
	const row = item => h("li", h("span", h("bdi", shown(item.path)), h("small", item.deleted && formatDate(item.deleted))),
		button(t("Restore"), "retry", event => event.detail > 1 || restore([item]).then(load).catch(fail)),
		iconButton(t("Delete forever"), "delete", () => erase(t("Delete forever"), "?id=" + item.id, shown(item.path)), {kind: "danger"}))
	const add = count => rows.append(...items.slice(rows.childElementCount).slice(0, count).map(row))
	const load = async () => {
		const count = rows.childElementCount;
		({items} = await api("GET", "trash"))
		rows.replaceChildren()
		add(Math.max(count, 100))
		if (!items.length) rows.append(h("li", t("The trash is empty")))
		empty.disabled = !items.length
		holdFocus()
	}
	const empty = button(t("Empty the trash"), "delete", () => erase(t("Empty the trash"), ""), {kind: "danger"})
	dialog(t("Trash"), [h("p", t("Kept for {n} day{s}", {n: info.trashDays})), rows, end], empty, {kind: "wide"})
	// Thousands take seconds: the rest comes as it is scrolled to.
	new IntersectionObserver(() => add(100)).observe(end)
	load().catch(fail)
}

export function showKeys() {
	const row = (words, ...keys) => h("div", h("dt", words), h("dd", keys.map(key => [h("kbd", keyLabel(key)), " "])))
	dialog(t("Keyboard shortcuts"), [h("dl.keys", row(t("Move in the list"), "↑", "↓"), row(t("Select further"), "Shift+↓"),
		row(t("Select or deselect"), t("Space")), row(t("Find by name"), "A–Z"), row(t("Open the menu"), "Shift+F10"),
		actions.filter(one => one.keys.length).map(one => row(t(one.label), ...one.keys))),
	h("label.choice", h("input", {type: "checkbox", checked: memory.get("letters", true), onchange: event => memory.set("letters", event.target.checked)}),
		t("Keys without Ctrl or Alt"))], [], {kind: "wide"})
}

export function loginForm() {
	const user = !boot.isLink && h("input", {name: "user", autocomplete: "username", required: true, autocapitalize: "none"})
	const password = h("input", {type: "password", name: "password", autocomplete: "current-password", required: true})
	const wrong = h("p.danger", {role: "alert"})
	return h("form.login", {onsubmit: async event => {
		claim(event)
		wrong.textContent = ""
		try {
			await request("POST", apiAddress("login"), {body: new URLSearchParams(new FormData(event.target))})
			location.reload()
			// Who stays for the sake of uploads goes on with them.
			setTimeout(refresh, 2000)
		} catch (error) {
			wrong.textContent = error.status === 401 ? t(user ? "User or password is wrong" : "Password is wrong") : error.message
			password.select()
		}
	}}, h("h2", t("Log in")), user && field(t("User"), user), field(t("Password"), password), wrong,
	h("button.button.primary", {type: "submit"}, t("Log in")))
}
