// A worker: SHA-256, FIPS 180-4.

const primes = []
for (let n = 2; primes.length < 64; n++) if (primes.every(prime => n % prime)) primes.push(n)
const fraction = x => x % 1 * 2 ** 32 | 0
const K = Int32Array.from(primes, prime => fraction(Math.cbrt(prime)))
const start = Int32Array.from(primes.slice(0, 8), prime => fraction(Math.sqrt(prime)))
const W = new Int32Array(64), turn = (x, n) => x >>> n | x << 32 - n

function block(state, bytes, at) {
	for (let i = 0; i < 16; i++, at += 4) W[i] = bytes[at] << 24 | bytes[at + 1] << 16 | bytes[at + 2] << 8 | bytes[at + 3]
	for (let i = 16; i < 64; i++) {
		const x = W[i - 15], y = W[i - 2]
		W[i] = W[i - 16] + (turn(x, 7) ^ turn(x, 18) ^ x >>> 3)
			+ W[i - 7] + (turn(y, 17) ^ turn(y, 19) ^ y >>> 10) | 0
	}
	let [a, b, c, d, e, f, g, h] = state
	for (let i = 0; i < 64; i++) {
		const one = h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + (e & f ^ ~e & g) + K[i] + W[i] | 0
		const two = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + (a & b ^ a & c ^ b & c) | 0
		h = g; g = f; f = e; e = d + one | 0
		d = c; c = b; b = a; a = one + two | 0
	}
	[a, b, c, d, e, f, g, h].forEach((word, i) => { state[i] += word })
}

const pieceSize = 1 << 20

async function digestOf(file) {
	const state = start.slice(), add = bytes => { for (let at = 0; at + 64 <= bytes.length; at += 64) block(state, bytes, at) }
	let piece
	for (let from = 0; from <= file.size; from += pieceSize) {
		piece = new Uint8Array(await file.slice(from, from + pieceSize).arrayBuffer())
		add(piece)
	}
	const rest = piece.subarray(piece.length & -64), end = new Uint8Array(rest.length < 56 ? 64 : 128)
	end.set(rest)
	end[rest.length] = 0x80
	new DataView(end.buffer).setBigUint64(end.length - 8, BigInt(file.size) * 8n)
	add(end)
	const bytes = new DataView(new ArrayBuffer(32))
	state.forEach((word, i) => bytes.setInt32(i * 4, word))
	return btoa(String.fromCharCode(...new Uint8Array(bytes.buffer)))
}

// One after the other: uploads come first.
let last = Promise.resolve()
onmessage = ({data}) => {
	last = last.then(() => digestOf(data)).catch(() => null).then(postMessage)
}
