#include "CBundledAssets.h"
int cassets_placeholder(void) { return 0; }
