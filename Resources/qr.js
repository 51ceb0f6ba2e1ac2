// QR codes (ISO 18004): bytes, error correction level M, versions 1 to 13, drawn as SVG.

import { app, dialog, h, iconButton, info, svg, t } from "./app.js";
import { copyText } from "./links.js";

/** For each version: check codewords a block, blocks, data codewords of the shorter blocks, blocks that have one more. */
const versions = [[10, 1, 16, 0], [16, 1, 28, 0], [26, 1, 44, 0], [18, 2, 32, 0], [24, 2, 43, 0], [16, 4, 27, 0], [18, 4, 31, 0],
	[22, 4, 38, 2], [22, 5, 36, 2], [26, 5, 43, 1], [30, 5, 50, 4], [22, 8, 36, 2], [22, 9, 37, 1]];

const exponents = [], logarithms = [];
for (let i = 0, x = 1; i < 255; i += 1, x = x << 1 ^ (x > 127 ? 0x11d : 0)) {
	exponents[i] = exponents[i + 255] = x;
	logarithms[x] = i;
}
const times = (a, b) => (a && b ? exponents[logarithms[a] + logarithms[b]] : 0);

function check(data, count) {
	let generator = [1];
	for (let i = 0; i < count; i += 1) generator = [...generator, 0].map((c, at) => c ^ times(generator[at - 1] ?? 0, exponents[i]));
	const rest = [...data, ...new Array(count).fill(0)];
	data.forEach((_, i) => {
		const factor = rest[i];
		generator.forEach((c, at) => { rest[i + at] ^= times(c, factor); });
	});
	return rest.slice(data.length);
}

const room = ([, blocks, length, longer]) => blocks * length + longer;

/** The text's bytes with their length, padding and check codewords, the blocks interleaved. */
function codewords(bytes, version) {
	const [checks, count, length, longer] = versions[version - 1];
	const size = room(versions[version - 1]);
	let bits = "0100" + bytes.length.toString(2).padStart(version < 10 ? 8 : 16, 0) + [...bytes].map((byte) => byte.toString(2).padStart(8, 0)).join("");
	bits = (bits + "0000").slice(0, size * 8);
	const data = bits.match(/.{1,8}/g).map((byte) => parseInt(byte.padEnd(8, 0), 2));
	for (let pad = 0xec; data.length < size; pad ^= 0xfd) data.push(pad);
	const blocks = Array.from({ length: count }, (_, i) => data.splice(0, length + (i >= count - longer ? 1 : 0)));
	const ends = blocks.map((block) => check(block, checks));
	const across = (list, rows) => Array.from({ length: rows }, (_, i) => list.map((block) => block[i])).flat().filter((one) => one !== undefined);
	return [...across(blocks, length + 1), ...across(ends, checks)];
}

/** A number followed by its check bits, as formats and versions are written. */
function checked(value, width, polynomial) {
	let rest = value << width;
	for (let i = 31; i >= width; i -= 1) if (rest >>> i & 1) rest ^= polynomial << i - width;
	return value << width | rest;
}

export function encode(text) {
	const bytes = new TextEncoder().encode(text);
	const version = versions.findIndex((one, i) => room(one) >= bytes.length + (i < 9 ? 2 : 3)) + 1;
	if (!version) throw new RangeError(t("The address is too long for a QR code"));
	const size = 17 + 4 * version;
	const grid = Array.from({ length: size }, () => []);
	const set = (x, y, dark) => { if (grid[y] && x >= 0 && x < size) grid[y][x] = Boolean(dark); };
	const square = (cx, cy, radius, light) => {
		for (let y = -radius; y <= radius; y += 1) {
			for (let x = -radius; x <= radius; x += 1) set(cx + x, cy + y, !light.includes(Math.max(Math.abs(x), Math.abs(y))));
		}
	};
	for (let i = 0; i < size; i += 1) {
		set(i, 6, i % 2 === 0);
		set(6, i, i % 2 === 0);
	}
	for (const [x, y] of [[3, 3], [size - 4, 3], [3, size - 4]]) square(x, y, 4, [2, 4]);
	const centers = version < 2 ? [] : version < 7 ? [6, size - 7] : [6, (size - 1) / 2 , size - 7];
	for (const y of centers) for (const x of centers) if (grid[y][x] === undefined || (x !== y && x + y !== size - 1 && (x === 6 || y === 6))) square(x, y, 2, [1]);
	for (let i = 0; version > 6 && i < 18; i += 1) {
		const bit = checked(version, 12, 0x1f25) >> i & 1;
		set(size - 11 + i % 3, Math.floor(i / 3), bit);
		set(Math.floor(i / 3), size - 11 + i % 3, bit);
	}
	// Level M is 0, and mask 0 is as good as any to those who read.
	const format = checked(0, 10, 0x537) ^ 0x5412;
	for (let i = 0; i < 15; i += 1) {
		const bit = format >> i & 1;
		set(8, i < 6 ? i : i < 8 ? i + 1 : size - 15 + i, bit);
		set(i < 8 ? size - 1 - i : i === 8 ? 7 : 14 - i, 8, bit);
	}
	set(8, size - 8, true);
	const words = codewords(bytes, version);
	let at = 0;
	for (let right = size - 1, up = true; right > 0; right -= 2, up = !up) {
		if (right === 6) right = 5;
		for (let i = 0; i < size; i += 1) {
			const y = up ? size - 1 - i : i;
			for (const x of [right, right - 1]) {
				if (grid[y][x] !== undefined) continue;
				grid[y][x] = Boolean(words[at >> 3] >> 7 - at % 8 & 1) !== ((x + y) % 2 === 0);
				at += 1;
			}
		}
	}
	return grid;
}

export function drawCode(text) {
	const grid = encode(text);
	const d = grid.flatMap((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : ""))).join("");
	return svg("svg", { viewBox: `-4 -4 ${grid.length + 8} ${grid.length + 8}`, class: "qr", role: "img", "aria-label": t("QR code"), "shape-rendering": "crispEdges" },
		svg("path", { d }));
}

const isLocal = (url) => /^(localhost|127\.|\[::1\])/.test(url.host);

/** The address of the folder shown, for a phone's camera: "localhost" means nothing to a phone, so others come first. */
export function showAddress() {
	const all = [location.href, ...info.addresses ?? []].map((one) => new URL(location.pathname, one));
	const choices = [...new Set([...all.filter((url) => !isLocal(url)), ...all].map((url) => url.href))];
	const box = dialog(t("QR code"));
	const place = h("div");
	const text = h("input", { type: "text", readOnly: true, "aria-label": t("Address") });
	const show = (address) => {
		text.value = address;
		try {
			place.replaceChildren(drawCode(address));
		} catch (error) {
			place.replaceChildren(error.message);
		}
	};
	box.body.append(place, h("div.address", text, iconButton(t("Copy address"), "copy", () => copyText(text.value))));
	if (choices.length > 1) {
		box.body.append(h("select", { "aria-label": t("Addresses"), onchange: (event) => show(event.target.value) }, choices.map((value) => h("option", { value }, value))));
	}
	show(choices[0]);
	box.show();
}
