#include <stddef.h>
#include <stdint.h>

/// libFuzzer's own main, for programs that have one too.
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*callback)(const uint8_t *data, size_t size));
