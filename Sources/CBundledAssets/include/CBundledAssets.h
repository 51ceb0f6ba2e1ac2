#pragma once
int cassets_placeholder(void);
