// A disk that fails, under the real database: an SQLite VFS that stands before the system's own for the files of one
// directory, counts every call, keeps what was written since when, and fails the calls that it is told to.
//
// What is on the files themselves is what the kernel's cache would show. What a medium has after a power cut is made from
// the records, by whoever reads them.
#ifndef FAULT_DISK_H
#define FAULT_DISK_H

#include <stddef.h>
#include <stdint.h>

typedef struct fault_disk fault_disk;

enum fault_disk_call {
    FAULT_DISK_OPEN,
    FAULT_DISK_READ,
    FAULT_DISK_WRITE,
    FAULT_DISK_TRUNCATE,
    FAULT_DISK_SYNC,
    FAULT_DISK_SIZE,
    FAULT_DISK_DELETE,
    FAULT_DISK_ACCESS,
    FAULT_DISK_MAP,
};

enum fault_disk_kind {
    // Every call fails with SQLITE_IOERR and what it is about. Of a write the first half has been made.
    FAULT_DISK_IO,
    // Writes, and whatever else takes room, fail with SQLITE_FULL. Of a write nothing has been made.
    FAULT_DISK_NO_ROOM,
    // A flush fails, and what it was to flush is not on the medium and will not be, though reads show it. Else as _IO.
    FAULT_DISK_LOST_FLUSH,
};

// What changes a file, in the order in which it happened.
enum fault_disk_change {
    FAULT_DISK_WRITTEN,
    FAULT_DISK_TRUNCATED,
    FAULT_DISK_DELETED,
    // All that was written to the file before is on the medium.
    FAULT_DISK_SYNCED,
    // What was written to the file since its last flush never gets there.
    FAULT_DISK_LOST,
    // The file has the name `other` from now on. SQLite renames nothing, and deletes no database: those who have are found out
    // by the next file that is opened.
    FAULT_DISK_RENAMED,
    // `value` is the caller's.
    FAULT_DISK_NOTED,
};

typedef struct {
    enum fault_disk_change change;
    // A name in the directory; empty for a note.
    const char *file;
    // Of a renaming, else NULL.
    const char *other;
    // In octets; of a truncation the new length.
    int64_t offset;
    const uint8_t *octets;
    size_t count;
    int64_t value;
} fault_disk_record;

// A disk for the files of `directory`, an absolute path without an end of '/'. NULL without memory.
fault_disk *fault_disk_make(const char *directory);
// No file of it may be open any more.
void fault_disk_end(fault_disk *disk);

// The calls from the first on, counted from 1 since the last time this was said, up to the last fail.
void fault_disk_fail(fault_disk *disk, enum fault_disk_kind kind, int64_t first, int64_t last);
// Calls since the disk was made, or since fault_disk_fail().
int64_t fault_disk_calls(fault_disk *disk);
// Whether one has failed since then.
int fault_disk_has_failed(fault_disk *disk);

void fault_disk_note(fault_disk *disk, int64_t value);
size_t fault_disk_record_count(fault_disk *disk);
// Valid until the disk ends.
fault_disk_record fault_disk_record_at(fault_disk *disk, size_t place);

#endif
