#pragma once
#include <sqlite3.h>

// SQLITE_TRANSIENT is a cast that Swift's importer cannot see.
static inline sqlite3_destructor_type latch_sqlite_transient(void) { return SQLITE_TRANSIENT; }

// sqlite3_db_config is variadic; the options used here all take one switch.
static inline int latch_sqlite_set(sqlite3 *database, int option, int on) {
    return sqlite3_db_config(database, option, on, (int *)0);
}

// Flushes the file behind the main database.
static inline int latch_sqlite_flush(sqlite3 *database) {
    sqlite3_file *file = 0;
    int status = sqlite3_file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (status != SQLITE_OK) return status;
    if (!file || !file->pMethods) return SQLITE_MISUSE;
    return file->pMethods->xSync(file, SQLITE_SYNC_FULL);
}
