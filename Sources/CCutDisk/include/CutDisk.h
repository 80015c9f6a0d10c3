// A block device whose power can be cut: a file, served by this process through FUSE, that a loop device can be laid on. What is
// written stays in a volatile cache until a flush; at a cut, what the medium keeps of the cache is the caller's choice.
#ifndef CUT_DISK_H
#define CUT_DISK_H

#include <stdint.h>

typedef struct cut_disk cut_disk;

// Mounts of this process, and of those that it starts, are its own from now on, and go with the last of them. To be called
// before there are threads. 0, or -1 and errno.
int cut_disk_own_mounts(void);

// Everything that was written to the file system of `directory` is on its medium when this returns. 0, or -1 and errno.
int cut_disk_flush_all(const char *directory);

// Serves DIRECTORY/disk with the octets of the file `image`, which stays as it is. NULL and errno when it cannot.
cut_disk *cut_disk_begin(const char *image, const char *directory);

// Counts writes and flushes from 1 from now on. At number `count` the power goes: the process of the machine is killed, and
// nothing reaches the disk any more. 0: never, and an operation that waits for a process fails without one. A disk that lies says
// of each flush that it has been made, and makes none.
void cut_disk_arm(cut_disk *disk, int64_t count, int lies);

// Who is killed: a descriptor of a process, of which the disk takes a copy. A disk that is armed waits for that at operation
// number `count`. 0, or -1 and errno.
int cut_disk_set_process(cut_disk *disk, int process);

// Writes and flushes since it was armed.
int64_t cut_disk_count(cut_disk *disk);

int cut_disk_is_cut(cut_disk *disk);

// 'w' for a write, 'f' for a flush: what the power went at.
char cut_disk_cut_at(cut_disk *disk);

// Whether somebody has the file open.
int cut_disk_is_open(cut_disk *disk);

// Writes that no flush has confirmed.
int64_t cut_disk_unflushed(cut_disk *disk);
// How many octets one of them has.
int64_t cut_disk_unflushed_octets(cut_disk *disk, int64_t place);

// The power is back: of write `place` the first survivors[place] octets are on the medium. For a disk that nobody has open.
void cut_disk_restore(cut_disk *disk, const int64_t *survivors);

// Ends the service.
void cut_disk_end(cut_disk *disk);

#endif
