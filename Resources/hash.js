// A worker: the SHA-256 of a file, read as a stream. FIPS 180-4.

const primes = []
for (let n = 2; primes.length < 64; n += 1) if (primes.every(prime => n % prime)) primes.push(n)
const fraction = x => ((x % 1) * 2 ** 32) | 0
const K = Int32Array.from(primes, prime => fraction(Math.cbrt(prime)))
const start = Int32Array.from(primes.slice(0, 8), prime => fraction(Math.sqrt(prime)))
const W = new Int32Array(64)

function block(state, bytes, at) {
	for (let i = 0; i < 16; i += 1, at += 4) W[i] = bytes[at] << 24 | bytes[at + 1] << 16 | bytes[at + 2] << 8 | bytes[at + 3]
	for (let i = 16; i < 64; i += 1) {
		const x = W[i - 15], y = W[i - 2]
		W[i] = W[i - 16] + ((x >>> 7 | x << 25) ^ (x >>> 18 | x << 14) ^ x >>> 3)
			+ W[i - 7] + ((y >>> 17 | y << 15) ^ (y >>> 19 | y << 13) ^ y >>> 10) | 0
	}
	let [a, b, c, d, e, f, g, h] = state
	for (let i = 0; i < 64; i += 1) {
		const one = h + ((e >>> 6 | e << 26) ^ (e >>> 11 | e << 21) ^ (e >>> 25 | e << 7)) + (e & f ^ ~e & g) + K[i] + W[i] | 0
		const two = ((a >>> 2 | a << 30) ^ (a >>> 13 | a << 19) ^ (a >>> 22 | a << 10)) + (a & b ^ a & c ^ b & c) | 0
		h = g; g = f; f = e; e = d + one | 0
		d = c; c = b; b = a; a = one + two | 0
	}
	[a, b, c, d, e, f, g, h].forEach((word, i) => { state[i] += word })
}

async function digestOf(file) {
	const state = start.slice(), rest = new Uint8Array(128), reader = file.stream().getReader()
	let filled = 0
	for (;;) {
		const {done, value} = await reader.read()
		if (done) break
		let at = filled ? Math.min(64 - filled, value.length) : 0
		rest.set(value.subarray(0, at), filled)
		filled += at
		if (filled > 0 && filled < 64) continue
		if (filled) block(state, rest, 0)
		for (; at + 64 <= value.length; at += 64) block(state, value, at)
		rest.set(value.subarray(at))
		filled = value.length - at
	}
	const length = filled < 56 ? 64 : 128
	rest.fill(0, filled)
	rest[filled] = 0x80
	new DataView(rest.buffer).setBigUint64(length - 8, BigInt(file.size) * 8n)
	for (let at = 0; at < length; at += 64) block(state, rest, at)
	const bytes = new DataView(new ArrayBuffer(32))
	state.forEach((word, i) => bytes.setInt32(i * 4, word))
	return btoa(String.fromCharCode(...new Uint8Array(bytes.buffer)))
}

// One file after the other: the disk and the processor serve the uploads first.
let last = Promise.resolve()
onmessage = ({data}) => {
	last = last.then(() => digestOf(data)).catch(() => null).then(postMessage)
}
