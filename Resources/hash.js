// A worker: the SHA-256 of a file, read as a stream. FIPS 180-4; crypto.subtle wants all bytes at once and https.

const primes = [];
for (let n = 2; primes.length < 64; n += 1) if (primes.every((prime) => n % prime)) primes.push(n);
const fraction = (x) => ((x - Math.floor(x)) * 2 ** 32) | 0;
const K = Int32Array.from(primes, (prime) => fraction(Math.cbrt(prime)));
const W = new Int32Array(64);

class Sha256 {
  constructor() {
    this.state = Int32Array.from(primes.slice(0, 8), (prime) => fraction(Math.sqrt(prime)));
    this.rest = new Uint8Array(64);
    this.filled = 0;
    this.length = 0;
  }

  update(bytes) {
    this.length += bytes.length;
    let at = 0;
    if (this.filled) {
      at = Math.min(64 - this.filled, bytes.length);
      this.rest.set(bytes.subarray(0, at), this.filled);
      this.filled += at;
      if (this.filled < 64) return;
      this.block(this.rest, 0);
      this.filled = 0;
    }
    for (; at + 64 <= bytes.length; at += 64) this.block(bytes, at);
    this.rest.set(bytes.subarray(at));
    this.filled = bytes.length - at;
  }

  block(bytes, at) {
    for (let i = 0; i < 16; i += 1, at += 4) W[i] = bytes[at] << 24 | bytes[at + 1] << 16 | bytes[at + 2] << 8 | bytes[at + 3];
    for (let i = 16; i < 64; i += 1) {
      const x = W[i - 15], y = W[i - 2];
      W[i] = W[i - 16] + ((x >>> 7 | x << 25) ^ (x >>> 18 | x << 14) ^ x >>> 3)
        + W[i - 7] + ((y >>> 17 | y << 15) ^ (y >>> 19 | y << 13) ^ y >>> 10) | 0;
    }
    const { state } = this;
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i += 1) {
      const one = h + ((e >>> 6 | e << 26) ^ (e >>> 11 | e << 21) ^ (e >>> 25 | e << 7)) + (e & f ^ ~e & g) + K[i] + W[i] | 0;
      const two = ((a >>> 2 | a << 30) ^ (a >>> 13 | a << 19) ^ (a >>> 22 | a << 10)) + (a & b ^ a & c ^ b & c) | 0;
      h = g; g = f; f = e; e = d + one | 0;
      d = c; c = b; b = a; a = one + two | 0;
    }
    state[0] += a; state[1] += b; state[2] += c; state[3] += d;
    state[4] += e; state[5] += f; state[6] += g; state[7] += h;
  }

  digest() {
    const { length } = this;
    const tail = new Uint8Array((this.filled < 56 ? 64 : 128) - this.filled);
    tail[0] = 0x80;
    const view = new DataView(tail.buffer);
    view.setUint32(tail.length - 8, Math.floor(length / 2 ** 29));
    view.setUint32(tail.length - 4, length * 8 >>> 0);
    this.update(tail);
    const bytes = new Uint8Array(32);
    this.state.forEach((word, i) => new DataView(bytes.buffer).setInt32(i * 4, word));
    return btoa(String.fromCharCode(...bytes));
  }
}

async function digestOf(file) {
  const hash = new Sha256();
  const reader = file.stream().getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return hash.digest();
    hash.update(value);
  }
}

// One file after the other: the disk and the processor serve the uploads first.
let last = Promise.resolve();
onmessage = ({ data: { id, file } }) => {
  last = last.then(async () => {
    try {
      postMessage({ id, digest: await digestOf(file) });
    } catch {
      postMessage({ id });
    }
  });
};
