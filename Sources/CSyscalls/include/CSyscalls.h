#pragma once
int csystem_placeholder(void);
