#include "CSyscalls.h"
int csystem_placeholder(void) { return 0; }
