const inline = id => document.getElementById(id).textContent
export const boot = JSON.parse(inline("boot"))
export const {base, info} = boot

// Lines of `beginning of the English=text`, the longest first.
const words = inline("words").split("\n").map(line => line.split(/=(.*)/)).sort(([a], [b]) => b.length - a.length), translations = {}

// Null where it can't be done.
export function tried(work) {
	try {
		return work()
	} catch {
		return null
	}
}

export const after = ms => new Promise(done => setTimeout(done, ms))

// Private windows may refuse.
export const memory = {
	get: (key, otherwise) => tried(() => JSON.parse(localStorage.getItem("shareserve." + key))) ?? otherwise,
	set: (key, value) => tried(() => localStorage.setItem("shareserve." + key, JSON.stringify(value))),
}

const locale = navigator.languages.find(tag => tag.split("-")[0] === boot.language) ?? boot.language
const plural = new Intl.PluralRules(boot.language), {pluralCategories} = plural.resolvedOptions()
const forms = ["zero", "one", "two", "few", "many", "other"].filter(one => pluralCategories.includes(one)), number = new Intl.NumberFormat(locale)
const until = new Intl.RelativeTimeFormat(locale, {style: "short"})
const sizes = ["", "kilo", "mega", "giga", "tera"].map((prefix, step) => new Intl.NumberFormat(locale,
	{style: "unit", unit: prefix + "byte", unitDisplay: step ? "short" : "long", maximumFractionDigits: step ? 1 : 0}))

// `{name}` is filled from `values`, `{s}` by the English plural; others' forms in Intl's order.
export function t(english, values = {}) {
	const choice = (translations[english] ??= words.find(([start]) => start && english.startsWith(start))?.[1] ?? english).split("|")
	const text = choice[forms.indexOf(plural.select(values.n))] ?? choice.at(-1)
	const all = {s: values.n === 1 ? "" : "s", ...values}
	return text.replace(/\{(\w+)\}/g, (_, name) => (typeof all[name] === "number" ? number.format(all[name]) : all[name] ?? ""))
}

export const {format: formatShare} = new Intl.NumberFormat(locale, {style: "percent", roundingMode: "floor"})

export const joined = (...parts) => parts.filter(Boolean).join(" · ")

export const {format: formatDate} = new Intl.DateTimeFormat(locale, {dateStyle: "medium", timeStyle: "short"})

export function formatSize(bytes) {
	const step = bytes < 1000 ? 0 : Math.min(4, Math.floor(Math.log10(bytes) / 3))
	return sizes[step].format(bytes / 1000 ** step)
}

export function formatUntil(seconds) {
	const [length, unit] = seconds < 90 ? [1, "second"] : seconds < 5400 ? [60, "minute"] : [3600, "hour"]
	return until.format(Math.ceil(seconds / length), unit)
}

// What would hide, reorder or break text is made visible.
export const shown = name => name.replace(/[\0-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g, "\ufffd")
