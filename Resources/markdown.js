// Markdown as elements: each is made by name and filled with text, so that nothing in a file can become markup.

import {h} from "./app.js"

let folder

/** An address that only leads somewhere: web pages, mail, files beside this one. */
function safeAddress(target) {
	const url = URL.parse?.(target, location.origin + folder)
	return url && ["http:", "https:", "mailto:"].includes(url.protocol) ? url : null
}

const link = (href, ...content) => h("a", {href, rel: "noopener noreferrer", target: "_blank"}, content)

const inlineRules = [
	[/`([^`]+)`/, ([, code]) => h("code", code)],
	[/!\[([^\]]*)\]\(([^)\s]+)[^)]*\)/, ([, alt, target]) => {
		const url = safeAddress(target)
		return url?.origin === location.origin ? h("img", {alt, src: url.href, loading: "lazy"}) : alt
	}],
	[/\[([^\]]+)\]\(([^)\s]+)[^)]*\)/, ([, text, target]) => {
		const url = safeAddress(target)
		return url ? link(url.href, inline(text)) : text
	}],
	[/<?(https?:\/\/[^\s<>)]+)>?/, ([, href]) => link(href, href)],
	[/(\*\*|__)(.+?)\1/, ([, , text]) => h("strong", inline(text))],
	[/\*([^*\s][^*]*)\*|\b_([^_]+)_\b/, ([, star, line]) => h("em", inline(star ?? line))],
	[/~~(.+?)~~/, ([, text]) => h("del", inline(text))],
]

function inline(text) {
	let first = null
	for (const [pattern, make] of inlineRules) {
		const match = pattern.exec(text)
		if (match && !(first?.match.index <= match.index)) first = {match, make}
	}
	if (!first) return [text]
	const {match, make} = first
	return [text.slice(0, match.index), make(match), ...inline(text.slice(match.index + match[0].length))]
}

const item = /^(\s*)([-*+]|\d+[.)]) /, rule = /^([-*_])( *\1){2,} *$/
const cells = (line, tag) => h("tr", line.trim().replace(/^\||\|$/g, "").split("|").map(cell => h(tag, inline(cell.trim()))))

/** `place`: the address of the folder that the text lies in. */
export function render(text, place) {
	folder = place ?? folder
	const lines = text.split("\n"), blocks = []
	let at = 0
	const take = test => {
		const from = at
		while (at < lines.length && test(lines[at])) at += 1
		return lines.slice(from, at)
	}
	while (at < lines.length) {
		const line = lines[at], [, level, title] = /^(#{1,6}) +(.*?)#*$/.exec(line) ?? []
		if (level || rule.test(line) || !line.trim()) {
			if (line.trim()) blocks.push(level ? h("h" + level.length, inline(title)) : h("hr"))
			at += 1
		} else if (/^(```|~~~)/.test(line)) {
			at += 1
			blocks.push(h("pre", {tabIndex: 0}, h("code", take(one => !one.startsWith(line.slice(0, 3))).join("\n"))))
			at += 1
		} else if (line.startsWith(">")) {
			blocks.push(h("blockquote", render(take(one => one.startsWith(">")).map(one => one.replace(/^> ?/, "")).join("\n"))))
		} else if (item.test(line)) {
			const indent = item.exec(line)[1].length, items = []
			while (at < lines.length && item.exec(lines[at])?.[1].length <= indent) {
				const own = lines[at].replace(item, "")
				at += 1
				const below = take(one => one.trim() && /^\s*/.exec(one)[0].length > indent)
				items.push(h("li", inline(own), below.length ? render(below.map(one => one.slice(indent + 1)).join("\n")) : null))
			}
			blocks.push(h(/^\s*\d/.test(line) ? "ol" : "ul", items))
		} else if (line.includes("|") && /^[\s|:-]*-[\s|:-]*$/.test(lines[at + 1] ?? "")) {
			at += 2
			blocks.push(h("table", cells(line, "th"), take(one => one.includes("|")).map(one => cells(one, "td"))))
		} else {
			at += 1
			const more = take(one => one.trim() && !item.test(one) && !rule.test(one) && !/^(#{1,6} |```|~~~|>)/.test(one))
			blocks.push(h("p", inline([line, ...more].join("\n"))))
		}
	}
	return blocks
}
