#pragma once

#include <stddef.h>
#include <stdint.h>

/// Continues the CRC-32 of ISO-HDLC (ZIP, gzip) over `length` more bytes; begin with 0.
uint32_t checksum_crc32(uint32_t crc, const void *bytes, size_t length);

/// Continues the CRC-32C (Castagnoli, RFC 3720) over `length` more bytes; begin with 0.
uint32_t checksum_crc32c(uint32_t crc, const void *bytes, size_t length);
