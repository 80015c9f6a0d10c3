#pragma once
#include <sqlite3.h>

// SQLITE_TRANSIENT is a cast that Swift's importer cannot see.
static inline sqlite3_destructor_type latch_sqlite_transient(void) { return SQLITE_TRANSIENT; }
