#pragma once
#include <stdint.h>

// How often this thread has asked for memory.
uint64_t latch_allocation_count(void);
