// The two CRCs: with the processor's own instructions if it has them, else with tables, eight bytes per step.

#include "CChecksums.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <arm_acle.h>
#include <sys/auxv.h>
#endif

static uint32_t crc32_table[8][256];
static uint32_t crc32c_table[8][256];

static void fill(uint32_t table[8][256], uint32_t polynomial) {
    for (uint32_t n = 0; n < 256; n++) {
        uint32_t crc = n;
        for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ ((crc & 1) ? polynomial : 0);
        table[0][n] = crc;
    }
    for (uint32_t n = 0; n < 256; n++)
        for (int k = 1; k < 8; k++) table[k][n] = (table[k - 1][n] >> 8) ^ table[0][table[k - 1][n] & 0xFF];
}

__attribute__((constructor)) static void fill_tables(void) {
    fill(crc32_table, 0xEDB88320u);
    fill(crc32c_table, 0x82F63B78u);
}

static uint32_t by_table(uint32_t table[8][256], uint32_t crc, const unsigned char *p, size_t length) {
    while (length >= 8) {
        crc ^= (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
        crc = table[7][crc & 0xFF] ^ table[6][(crc >> 8) & 0xFF] ^ table[5][(crc >> 16) & 0xFF] ^ table[4][crc >> 24]
            ^ table[3][p[4]] ^ table[2][p[5]] ^ table[1][p[6]] ^ table[0][p[7]];
        p += 8;
        length -= 8;
    }
    while (length--) crc = (crc >> 8) ^ table[0][(crc ^ *p++) & 0xFF];
    return crc;
}

#if defined(__x86_64__)

// Folding by carry-less multiplication: "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction",
// Intel, 2009. `length` is at least 64 and a multiple of 16.
__attribute__((target("pclmul,sse4.1"))) static uint32_t by_folding(
    uint32_t crc, const unsigned char *p, size_t length) {
    const __m128i k1k2 = _mm_set_epi64x(0x01c6e41596, 0x0154442bd4);
    const __m128i k3k4 = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0);
    const __m128i k5 = _mm_set_epi64x(0, 0x0163cd6124);
    const __m128i polynomial = _mm_set_epi64x(0x01f7011641, 0x01db710641);
    const __m128i low = _mm_setr_epi32(~0, 0, ~0, 0);

    __m128i x1 = _mm_xor_si128(_mm_loadu_si128((const __m128i *)p), _mm_cvtsi32_si128((int)crc));
    __m128i x2 = _mm_loadu_si128((const __m128i *)(p + 16));
    __m128i x3 = _mm_loadu_si128((const __m128i *)(p + 32));
    __m128i x4 = _mm_loadu_si128((const __m128i *)(p + 48));
    p += 64;
    length -= 64;
    while (length >= 64) {
        __m128i y1 = _mm_clmulepi64_si128(x1, k1k2, 0x00), y2 = _mm_clmulepi64_si128(x2, k1k2, 0x00);
        __m128i y3 = _mm_clmulepi64_si128(x3, k1k2, 0x00), y4 = _mm_clmulepi64_si128(x4, k1k2, 0x00);
        x1 = _mm_xor_si128(_mm_clmulepi64_si128(x1, k1k2, 0x11), y1);
        x2 = _mm_xor_si128(_mm_clmulepi64_si128(x2, k1k2, 0x11), y2);
        x3 = _mm_xor_si128(_mm_clmulepi64_si128(x3, k1k2, 0x11), y3);
        x4 = _mm_xor_si128(_mm_clmulepi64_si128(x4, k1k2, 0x11), y4);
        x1 = _mm_xor_si128(x1, _mm_loadu_si128((const __m128i *)p));
        x2 = _mm_xor_si128(x2, _mm_loadu_si128((const __m128i *)(p + 16)));
        x3 = _mm_xor_si128(x3, _mm_loadu_si128((const __m128i *)(p + 32)));
        x4 = _mm_xor_si128(x4, _mm_loadu_si128((const __m128i *)(p + 48)));
        p += 64;
        length -= 64;
    }
    const __m128i rest[3] = {x2, x3, x4};
    for (int n = 0; n < 3; n++) {
        __m128i y = _mm_clmulepi64_si128(x1, k3k4, 0x00);
        x1 = _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(x1, k3k4, 0x11), y), rest[n]);
    }
    while (length >= 16) {
        __m128i y = _mm_clmulepi64_si128(x1, k3k4, 0x00);
        x1 = _mm_xor_si128(_mm_clmulepi64_si128(x1, k3k4, 0x11), y);
        x1 = _mm_xor_si128(x1, _mm_loadu_si128((const __m128i *)p));
        p += 16;
        length -= 16;
    }
    // 128 bits to 64, then Barrett's reduction to 32.
    x1 = _mm_xor_si128(_mm_srli_si128(x1, 8), _mm_clmulepi64_si128(x1, k3k4, 0x10));
    x1 = _mm_xor_si128(_mm_srli_si128(x1, 4), _mm_clmulepi64_si128(_mm_and_si128(x1, low), k5, 0x00));
    __m128i q = _mm_and_si128(_mm_clmulepi64_si128(_mm_and_si128(x1, low), polynomial, 0x10), low);
    x1 = _mm_xor_si128(x1, _mm_clmulepi64_si128(q, polynomial, 0x00));
    return (uint32_t)_mm_extract_epi32(x1, 1);
}

__attribute__((target("sse4.2"))) static uint32_t castagnoli(uint32_t crc, const unsigned char *p, size_t length) {
    uint64_t state = crc;
    while (length >= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        state = _mm_crc32_u64(state, word);
        p += 8;
        length -= 8;
    }
    crc = (uint32_t)state;
    while (length--) crc = _mm_crc32_u8(crc, *p++);
    return crc;
}

#elif defined(__aarch64__) && defined(__linux__)

#define HAS_CRC (1UL << 7)

__attribute__((target("crc"))) static uint32_t by_instruction(
    uint32_t crc, const unsigned char *p, size_t length, int is_castagnoli) {
    while (length >= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        crc = is_castagnoli ? __crc32cd(crc, word) : __crc32d(crc, word);
        p += 8;
        length -= 8;
    }
    while (length--) crc = is_castagnoli ? __crc32cb(crc, *p++) : __crc32b(crc, *p++);
    return crc;
}

#endif

uint32_t checksum_crc32(uint32_t crc, const void *bytes, size_t length) {
    const unsigned char *p = bytes;
    crc = ~crc;
#if defined(__x86_64__)
    if (length >= 64 && __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1")) {
        size_t whole = length & ~(size_t)15;
        crc = by_folding(crc, p, whole);
        p += whole;
        length -= whole;
    }
#elif defined(__aarch64__) && defined(__linux__)
    if (getauxval(AT_HWCAP) & HAS_CRC) return ~by_instruction(crc, p, length, 0);
#endif
    return ~by_table(crc32_table, crc, p, length);
}

uint32_t checksum_crc32c(uint32_t crc, const void *bytes, size_t length) {
    const unsigned char *p = bytes;
    crc = ~crc;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2")) return ~castagnoli(crc, p, length);
#elif defined(__aarch64__) && defined(__linux__)
    if (getauxval(AT_HWCAP) & HAS_CRC) return ~by_instruction(crc, p, length, 1);
#endif
    return ~by_table(crc32c_table, crc, p, length);
}
