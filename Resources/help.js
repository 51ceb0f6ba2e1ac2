// The keys, read from the actions themselves.

import {actions, dialog, h, keyLabel, memory, t} from "./app.js"

export function showKeys() {
	const row = (words, ...keys) => h("div", h("dt", words), h("dd", keys.map(key => [h("kbd", keyLabel(key)), " "])))
	dialog(t("Keyboard shortcuts"), [h("dl.keys", row(t("Move in the list"), "↑", "↓"), row(t("Select further"), "Shift+↓"),
		row(t("Select or not"), t("Space")), row(t("Find by name"), "A–Z"), row(t("Open the menu"), "Shift+F10"),
		actions.filter(one => one.keys.length).map(one => row(t(one.label), ...one.keys))),
	h("label.choice", h("input", {type: "checkbox", checked: memory.get("letters", true), onchange: event => memory.set("letters", event.target.checked)}),
		t("Keys without Ctrl or Alt"))], [], {kind: "wide"})
}
