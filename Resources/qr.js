// QR codes (ISO 18004): byte mode, error correction level M, versions 1 to 20, drawn as SVG.

import { app, button, dialog, h, info, t } from "./app.js";
import { copyText } from "./links.js";

/** For each version: check codewords a block, blocks of the short kind, their data codewords, blocks one longer. */
const versions = [[10, 1, 16, 0], [16, 1, 28, 0], [26, 1, 44, 0], [18, 2, 32, 0], [24, 2, 43, 0], [16, 4, 27, 0], [18, 4, 31, 0],
  [22, 2, 38, 2], [22, 3, 36, 2], [26, 4, 43, 1], [30, 1, 50, 4], [22, 6, 36, 2], [22, 8, 37, 1], [24, 4, 40, 5], [24, 5, 41, 5],
  [28, 7, 45, 3], [28, 10, 46, 1], [26, 9, 43, 4], [26, 3, 44, 11], [26, 3, 41, 13]];

const exponents = new Uint8Array(512), logarithms = new Uint8Array(256);
for (let i = 0, x = 1; i < 255; i += 1) {
  exponents[i] = exponents[i + 255] = x;
  logarithms[x] = i;
  x = x << 1 ^ (x > 127 ? 0x11d : 0);
}
const times = (a, b) => (a && b ? exponents[logarithms[a] + logarithms[b]] : 0);

/** The Reed-Solomon check codewords of a block. */
function check(data, count) {
  let generator = [1];
  for (let i = 0; i < count; i += 1) {
    generator = [...generator, 0].map((c, at) => c ^ times(generator[at - 1] ?? 0, exponents[i]));
  }
  const rest = [...data, ...new Array(count).fill(0)];
  data.forEach((_, i) => {
    const factor = rest[i];
    generator.forEach((c, at) => { rest[i + at] ^= times(c, factor); });
  });
  return rest.slice(data.length);
}

function codewords(bytes, version) {
  const [checks, short, length, long] = versions[version - 1];
  const capacity = short * length + long * (length + 1);
  const bits = [];
  const put = (value, width) => { for (let i = width - 1; i >= 0; i -= 1) bits.push(value >> i & 1); };
  put(4, 4);
  put(bytes.length, version < 10 ? 8 : 16);
  for (const byte of bytes) put(byte, 8);
  put(0, Math.min(4, capacity * 8 - bits.length));
  while (bits.length % 8) bits.push(0);
  const data = [];
  for (let i = 0; i < bits.length; i += 8) data.push(parseInt(bits.slice(i, i + 8).join(""), 2));
  for (let pad = 0xec; data.length < capacity; pad ^= 0xfd) data.push(pad);
  const blocks = [];
  for (let i = 0, at = 0; i < short + long; i += 1) {
    const size = length + (i >= short ? 1 : 0);
    blocks.push(data.slice(at, at += size));
  }
  const ends = blocks.map((block) => check(block, checks));
  const out = [];
  for (let i = 0; i <= length; i += 1) for (const block of blocks) if (i < block.length) out.push(block[i]);
  for (let i = 0; i < checks; i += 1) for (const end of ends) out.push(end[i]);
  return out;
}

const masks = [(x, y) => (x + y) % 2, (x, y) => y % 2, (x) => x % 3, (x, y) => (x + y) % 3, (x, y) => (Math.floor(y / 2) + Math.floor(x / 3)) % 2,
  (x, y) => x * y % 2 + x * y % 3, (x, y) => (x * y % 2 + x * y % 3) % 2, (x, y) => ((x + y) % 2 + x * y % 3) % 2];

/** Bits with their check bits, as formats and versions are written. */
function checked(value, width, polynomial) {
  let rest = value << width;
  for (let i = 31; i >= width; i -= 1) if (rest >>> i & 1) rest ^= polynomial << i - width;
  return value << width | rest;
}

/** How hard a pattern is to read: lines, squares, false finders, imbalance. */
function penalty(grid) {
  const size = grid.length;
  let points = 0, dark = 0;
  for (const turned of [false, true]) {
    for (let a = 0; a < size; a += 1) {
      const line = Array.from({ length: size }, (_, b) => (turned ? grid[b][a] : grid[a][b]) ? "1" : "0").join("");
      for (const streak of line.match(/0{5,}|1{5,}/g) ?? []) points += streak.length - 2;
      points += 40 * (line.match(/(?=00001011101|10111010000)/g) ?? []).length;
    }
  }
  for (let y = 0; y < size; y += 1) {
    for (let x = 0; x < size; x += 1) {
      dark += grid[y][x] ? 1 : 0;
      if (x && y && grid[y][x] === grid[y - 1][x] && grid[y][x] === grid[y][x - 1] && grid[y][x] === grid[y - 1][x - 1]) points += 3;
    }
  }
  return points + 10 * Math.floor(Math.abs(dark / size ** 2 * 100 - 50) / 5);
}

/** The dark and light modules for a text, as rows of booleans. */
export function encode(text) {
  const bytes = new TextEncoder().encode(text);
  const version = versions.findIndex(([, short, length, long], i) => short * length + long * (length + 1) >= bytes.length + (i < 9 ? 2 : 3)) + 1;
  if (!version) throw new RangeError(t("The address is too long for a QR code."));
  const size = 17 + 4 * version;
  const grid = Array.from({ length: size }, () => new Array(size).fill(false));
  const fixed = Array.from({ length: size }, () => new Array(size).fill(false));
  const set = (x, y, dark) => {
    if (x < 0 || y < 0 || x >= size || y >= size) return;
    grid[y][x] = Boolean(dark);
    fixed[y][x] = true;
  };
  for (let i = 0; i < size; i += 1) {
    set(i, 6, i % 2 === 0);
    set(6, i, i % 2 === 0);
  }
  const square = (cx, cy, radius, dark) => {
    for (let y = -radius; y <= radius; y += 1) for (let x = -radius; x <= radius; x += 1) set(cx + x, cy + y, dark(Math.max(Math.abs(x), Math.abs(y))));
  };
  for (const [x, y] of [[3, 3], [size - 4, 3], [3, size - 4]]) square(x, y, 4, (ring) => ring !== 2 && ring !== 4);
  const marks = Math.floor(version / 7) + 2;
  const step = version === 1 ? 0 : Math.ceil((size - 13) / (2 * marks - 2)) * 2;
  const centers = version === 1 ? [] : [6, ...Array.from({ length: marks - 1 }, (_, i) => size - 7 - i * step).reverse()];
  for (const y of centers) {
    for (const x of centers) {
      const onFinder = (x === 6 && y === 6) || (x === 6 && y === size - 7) || (x === size - 7 && y === 6);
      if (!onFinder) square(x, y, 2, (ring) => ring !== 1);
    }
  }
  if (version >= 7) {
    const bits = checked(version, 12, 0x1f25);
    for (let i = 0; i < 18; i += 1) {
      set(size - 11 + i % 3, Math.floor(i / 3), bits >> i & 1);
      set(Math.floor(i / 3), size - 11 + i % 3, bits >> i & 1);
    }
  }
  const format = (mask) => {
    const bits = checked(mask, 10, 0x537) ^ 0x5412;
    for (let i = 0; i < 15; i += 1) {
      const bit = bits >> i & 1;
      if (i < 6) set(8, i, bit);
      else if (i < 8) set(8, i + 1, bit);
      else if (i === 8) set(7, 8, bit);
      else set(14 - i, 8, bit);
      if (i < 8) set(size - 1 - i, 8, bit);
      else set(8, size - 15 + i, bit);
    }
    set(8, size - 8, true);
  };
  format(0);
  const words = codewords(bytes, version);
  let at = 0;
  for (let right = size - 1, up = true; right > 0; right -= 2, up = !up) {
    if (right === 6) right = 5;
    for (let i = 0; i < size; i += 1) {
      const y = up ? size - 1 - i : i;
      for (const x of [right, right - 1]) {
        if (fixed[y][x]) continue;
        grid[y][x] = Boolean(words[at >> 3] >> 7 - at % 8 & 1);
        at += 1;
      }
    }
  }
  const flip = (mask) => grid.forEach((row, y) => row.forEach((_, x) => { if (!fixed[y][x] && !masks[mask](x, y)) row[x] = !row[x]; }));
  const scores = masks.map((_, mask) => {
    flip(mask);
    format(mask);
    const score = penalty(grid);
    flip(mask);
    return score;
  });
  const best = scores.indexOf(Math.min(...scores));
  flip(best);
  format(best);
  return grid;
}

const namespace = "http://www.w3.org/2000/svg";

export function drawCode(text) {
  const grid = encode(text);
  const svg = document.createElementNS(namespace, "svg");
  const set = (element, values) => { for (const [name, value] of Object.entries(values)) element.setAttribute(name, value); };
  set(svg, { viewBox: `-4 -4 ${grid.length + 8} ${grid.length + 8}`, class: "qr", role: "img", "aria-label": t("QR code: {address}", { address: text }), "shape-rendering": "crispEdges" });
  const path = document.createElementNS(namespace, "path");
  set(path, { d: grid.flatMap((row, y) => row.map((dark, x) => dark && `M${x} ${y}h1v1h-1z`)).filter(Boolean).join(""), fill: "#000" });
  svg.append(path);
  return svg;
}

/** The address of the folder shown, for a phone's camera. "localhost" means nothing to a phone, so others are offered. */
export function showAddress() {
  const own = location.origin + location.pathname;
  const others = (info.addresses ?? []).map((address) => new URL(location.pathname, address).href);
  const far = others.filter((address) => !/^https?:\/\/(localhost|127\.|\[::1\])/.test(address));
  const here = /^(localhost|127\.|\[::1\])/.test(location.hostname);
  const choices = [...new Set(here ? [...far, own] : [own, ...far])];
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
  const select = choices.length > 1 && h("select", { "aria-label": t("Addresses"), onchange: () => show(select.value) },
    choices.map((address) => h("option", { value: address }, address)));
  box.body.append(place, h("div", { class: "address" }, text, button(t("Copy address"), "copy", () => copyText(text.value), { compact: true })));
  if (select) box.body.append(select);
  show(choices[0]);
  box.show();
}
