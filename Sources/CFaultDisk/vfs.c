#include "FaultDisk.h"
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct {
    enum fault_disk_change change;
    char *file;
    char *other;
    int64_t offset;
    uint8_t *octets;
    size_t count;
    int64_t value;
} stored_record;

// A file that was opened under a name.
typedef struct {
    char *name;
    ino_t file;
    int is_gone;
} known_name;

enum { names_max = 16 };

struct fault_disk {
    char *directory;
    size_t length;
    fault_disk *next;
    pthread_mutex_t mutex;
    int64_t calls;
    enum fault_disk_kind kind;
    int64_t first, last;
    int has_failed;
    stored_record *records;
    size_t count, capacity;
    known_name names[names_max];
    size_t name_count;
};

// A file of a disk. The system's own stands behind it.
typedef struct {
    sqlite3_file base;
    fault_disk *disk;
    char *name;
    sqlite3_file *real;
} disk_file;

static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;
static fault_disk *disks;
static sqlite3_vfs *system_vfs;
static sqlite3_vfs fault_vfs;

static fault_disk *disk_of(const char *path) {
    fault_disk *found = NULL;
    if (path == NULL) return NULL;
    pthread_mutex_lock(&registry);
    for (fault_disk *disk = disks; disk != NULL && found == NULL; disk = disk->next)
        if (strncmp(path, disk->directory, disk->length) == 0 && path[disk->length] == '/') found = disk;
    pthread_mutex_unlock(&registry);
    return found;
}

static void record_locked(fault_disk *disk, enum fault_disk_change change, const char *file, const char *other,
    int64_t offset, const void *octets, size_t count, int64_t value) {
    if (disk->count == disk->capacity) {
        disk->capacity = disk->capacity == 0 ? 256 : 2 * disk->capacity;
        disk->records = realloc(disk->records, disk->capacity * sizeof *disk->records);
        if (disk->records == NULL) abort();
    }
    stored_record made = {change, strdup(file), other == NULL ? NULL : strdup(other), offset, count == 0 ? NULL : malloc(count), count, value};
    if (made.file == NULL || (count != 0 && made.octets == NULL)) abort();
    if (count != 0) memcpy(made.octets, octets, count);
    disk->records[disk->count++] = made;
}

static void record(fault_disk *disk, enum fault_disk_change change, const char *file, int64_t offset,
    const void *octets, size_t count, int64_t value) {
    pthread_mutex_lock(&disk->mutex);
    record_locked(disk, change, file, NULL, offset, octets, count, value);
    pthread_mutex_unlock(&disk->mutex);
}

// 0 when there is no such file.
static ino_t file_under(fault_disk *disk, const char *name) {
    char path[4096];
    struct stat found;
    if (snprintf(path, sizeof path, "%s/%s", disk->directory, name) >= (int)sizeof path) abort();
    return lstat(path, &found) == 0 ? found.st_ino : 0;
}

// Records what has become of names since the last time, and remembers the file that `opened` names now.
static void follow_names(fault_disk *disk, const char *opened) {
    pthread_mutex_lock(&disk->mutex);
    for (size_t place = 0; place < disk->name_count; place++) {
        known_name *known = &disk->names[place];
        known->is_gone = known->file != 0 && file_under(disk, known->name) != known->file;
    }
    ino_t file = file_under(disk, opened);
    known_name *target = NULL;
    const known_name *source = NULL;
    for (size_t place = 0; place < disk->name_count; place++) {
        known_name *known = &disk->names[place];
        if (strcmp(known->name, opened) == 0) target = known;
        else if (known->is_gone && known->file == file) source = known;
        else if (known->is_gone) record_locked(disk, FAULT_DISK_DELETED, known->name, NULL, 0, NULL, 0, 0);
    }
    if (source != NULL) record_locked(disk, FAULT_DISK_RENAMED, source->name, opened, 0, NULL, 0, 0);
    else if (target != NULL && target->is_gone) record_locked(disk, FAULT_DISK_DELETED, opened, NULL, 0, NULL, 0, 0);
    for (size_t place = 0; place < disk->name_count; place++)
        if (disk->names[place].is_gone) disk->names[place].file = 0;
    if (target == NULL) {
        if (disk->name_count == names_max) abort();
        target = &disk->names[disk->name_count++];
        target->name = strdup(opened);
        if (target->name == NULL) abort();
    }
    target->file = file;
    pthread_mutex_unlock(&disk->mutex);
}

// Counts a call, and says whether it is to fail.
static int fails(fault_disk *disk, enum fault_disk_call call) {
    pthread_mutex_lock(&disk->mutex);
    disk->calls++;
    int is_due = disk->first <= disk->calls && disk->calls <= disk->last;
    if (disk->kind == FAULT_DISK_NO_ROOM)
        is_due = is_due && (call == FAULT_DISK_WRITE || call == FAULT_DISK_MAP);
    disk->has_failed |= is_due;
    pthread_mutex_unlock(&disk->mutex);
    return is_due;
}

static int room_error(fault_disk *disk, int otherwise) {
    return disk->kind == FAULT_DISK_NO_ROOM ? SQLITE_FULL : otherwise;
}

static void forget_name(fault_disk *disk, const char *name) {
    pthread_mutex_lock(&disk->mutex);
    for (size_t place = 0; place < disk->name_count; place++)
        if (strcmp(disk->names[place].name, name) == 0) disk->names[place].file = 0;
    pthread_mutex_unlock(&disk->mutex);
}

// MARK: files

static int file_close(sqlite3_file *base) {
    disk_file *file = (disk_file *)base;
    int status = file->real->pMethods == NULL ? SQLITE_OK : file->real->pMethods->xClose(file->real);
    free(file->name);
    return status;
}

static int file_read(sqlite3_file *base, void *octets, int count, sqlite3_int64 offset) {
    disk_file *file = (disk_file *)base;
    if (fails(file->disk, FAULT_DISK_READ)) return SQLITE_IOERR_READ;
    return file->real->pMethods->xRead(file->real, octets, count, offset);
}

static int file_write(sqlite3_file *base, const void *octets, int count, sqlite3_int64 offset) {
    disk_file *file = (disk_file *)base;
    int is_failing = fails(file->disk, FAULT_DISK_WRITE);
    if (is_failing) count = file->disk->kind == FAULT_DISK_NO_ROOM ? 0 : count / 2;
    int status = count == 0 ? SQLITE_OK : file->real->pMethods->xWrite(file->real, octets, count, offset);
    if (status == SQLITE_OK && count != 0)
        record(file->disk, FAULT_DISK_WRITTEN, file->name, offset, octets, (size_t)count, 0);
    return is_failing ? room_error(file->disk, SQLITE_IOERR_WRITE) : status;
}

static int file_truncate(sqlite3_file *base, sqlite3_int64 length) {
    disk_file *file = (disk_file *)base;
    if (fails(file->disk, FAULT_DISK_TRUNCATE)) return SQLITE_IOERR_TRUNCATE;
    int status = file->real->pMethods->xTruncate(file->real, length);
    if (status == SQLITE_OK) record(file->disk, FAULT_DISK_TRUNCATED, file->name, length, NULL, 0, 0);
    return status;
}

static int file_sync(sqlite3_file *base, int flags) {
    disk_file *file = (disk_file *)base;
    (void)flags;
    if (fails(file->disk, FAULT_DISK_SYNC)) {
        if (file->disk->kind == FAULT_DISK_LOST_FLUSH)
            record(file->disk, FAULT_DISK_LOST, file->name, 0, NULL, 0, 0);
        return SQLITE_IOERR_FSYNC;
    }
    // The medium is the records: a real flush would only take its time.
    record(file->disk, FAULT_DISK_SYNCED, file->name, 0, NULL, 0, 0);
    return SQLITE_OK;
}

static int file_size(sqlite3_file *base, sqlite3_int64 *size) {
    disk_file *file = (disk_file *)base;
    if (fails(file->disk, FAULT_DISK_SIZE)) return SQLITE_IOERR_FSTAT;
    return file->real->pMethods->xFileSize(file->real, size);
}

static int file_lock(sqlite3_file *base, int level) {
    sqlite3_file *real = ((disk_file *)base)->real;
    return real->pMethods->xLock(real, level);
}

static int file_unlock(sqlite3_file *base, int level) {
    sqlite3_file *real = ((disk_file *)base)->real;
    return real->pMethods->xUnlock(real, level);
}

static int file_is_reserved(sqlite3_file *base, int *is_reserved) {
    sqlite3_file *real = ((disk_file *)base)->real;
    return real->pMethods->xCheckReservedLock(real, is_reserved);
}

static int file_control(sqlite3_file *base, int operation, void *argument) {
    sqlite3_file *real = ((disk_file *)base)->real;
    return real->pMethods->xFileControl(real, operation, argument);
}

static int file_sector(sqlite3_file *base) {
    sqlite3_file *real = ((disk_file *)base)->real;
    return real->pMethods->xSectorSize(real);
}

static int file_characteristics(sqlite3_file *base) {
    sqlite3_file *real = ((disk_file *)base)->real;
    return real->pMethods->xDeviceCharacteristics(real);
}

static int file_map(sqlite3_file *base, int region, int size, int extends, void volatile **mapped) {
    disk_file *file = (disk_file *)base;
    if (fails(file->disk, FAULT_DISK_MAP)) return room_error(file->disk, SQLITE_IOERR_SHMMAP);
    return file->real->pMethods->xShmMap(file->real, region, size, extends, mapped);
}

static int file_map_lock(sqlite3_file *base, int offset, int count, int flags) {
    sqlite3_file *real = ((disk_file *)base)->real;
    return real->pMethods->xShmLock(real, offset, count, flags);
}

static void file_map_barrier(sqlite3_file *base) {
    sqlite3_file *real = ((disk_file *)base)->real;
    real->pMethods->xShmBarrier(real);
}

static int file_unmap(sqlite3_file *base, int deletes) {
    sqlite3_file *real = ((disk_file *)base)->real;
    return real->pMethods->xShmUnmap(real, deletes);
}

// The second version: with the log's index, and without the mapping of files into memory, which no call would tell of.
static const sqlite3_io_methods file_methods = {
    .iVersion = 2,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_is_reserved,
    .xFileControl = file_control,
    .xSectorSize = file_sector,
    .xDeviceCharacteristics = file_characteristics,
    .xShmMap = file_map,
    .xShmLock = file_map_lock,
    .xShmBarrier = file_map_barrier,
    .xShmUnmap = file_unmap,
};

// MARK: the disk

static int vfs_open(sqlite3_vfs *vfs, sqlite3_filename path, sqlite3_file *base, int flags, int *given) {
    (void)vfs;
    fault_disk *disk = disk_of(path);
    if (disk == NULL) return system_vfs->xOpen(system_vfs, path, base, flags, given);
    disk_file *file = (disk_file *)base;
    memset(file, 0, sizeof *file);
    if (fails(disk, FAULT_DISK_OPEN)) return SQLITE_CANTOPEN;
    file->disk = disk;
    file->real = (sqlite3_file *)(file + 1);
    int status = system_vfs->xOpen(system_vfs, path, file->real, flags, given);
    if (status != SQLITE_OK) return status;
    file->name = strdup(path + disk->length + 1);
    if (file->name == NULL) abort();
    file->base.pMethods = &file_methods;
    follow_names(disk, file->name);
    return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *path, int flushes_directory) {
    (void)vfs;
    fault_disk *disk = disk_of(path);
    if (disk == NULL) return system_vfs->xDelete(system_vfs, path, flushes_directory);
    if (fails(disk, FAULT_DISK_DELETE)) return SQLITE_IOERR_DELETE;
    int status = system_vfs->xDelete(system_vfs, path, 0);
    if (status == SQLITE_OK) {
        record(disk, FAULT_DISK_DELETED, path + disk->length + 1, 0, NULL, 0, 0);
        forget_name(disk, path + disk->length + 1);
    }
    return status;
}

static int vfs_access(sqlite3_vfs *vfs, const char *path, int flags, int *found) {
    (void)vfs;
    fault_disk *disk = disk_of(path);
    if (disk != NULL && fails(disk, FAULT_DISK_ACCESS)) return SQLITE_IOERR_ACCESS;
    return system_vfs->xAccess(system_vfs, path, flags, found);
}

static void become_default(void) {
    system_vfs = sqlite3_vfs_find(NULL);
    if (system_vfs == NULL) abort();
    // Everything else is the system's, with the system's own data.
    fault_vfs = *system_vfs;
    fault_vfs.zName = "fault-disk";
    fault_vfs.szOsFile = (int)sizeof(disk_file) + system_vfs->szOsFile;
    fault_vfs.xOpen = vfs_open;
    fault_vfs.xDelete = vfs_delete;
    fault_vfs.xAccess = vfs_access;
    if (sqlite3_vfs_register(&fault_vfs, 1) != SQLITE_OK) abort();
}

fault_disk *fault_disk_make(const char *directory) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, become_default);
    fault_disk *disk = calloc(1, sizeof *disk);
    if (disk == NULL) return NULL;
    disk->directory = strdup(directory);
    if (disk->directory == NULL) abort();
    disk->length = strlen(directory);
    pthread_mutex_init(&disk->mutex, NULL);
    pthread_mutex_lock(&registry);
    disk->next = disks;
    disks = disk;
    pthread_mutex_unlock(&registry);
    return disk;
}

void fault_disk_end(fault_disk *disk) {
    pthread_mutex_lock(&registry);
    for (fault_disk **place = &disks; *place != NULL; place = &(*place)->next)
        if (*place == disk) {
            *place = disk->next;
            break;
        }
    pthread_mutex_unlock(&registry);
    for (size_t place = 0; place < disk->count; place++) {
        free(disk->records[place].file);
        free(disk->records[place].other);
        free(disk->records[place].octets);
    }
    for (size_t place = 0; place < disk->name_count; place++) free(disk->names[place].name);
    free(disk->records);
    free(disk->directory);
    pthread_mutex_destroy(&disk->mutex);
    free(disk);
}

void fault_disk_fail(fault_disk *disk, enum fault_disk_kind kind, int64_t first, int64_t last) {
    pthread_mutex_lock(&disk->mutex);
    disk->kind = kind;
    disk->first = first;
    disk->last = last;
    disk->calls = 0;
    disk->has_failed = 0;
    pthread_mutex_unlock(&disk->mutex);
}

int64_t fault_disk_calls(fault_disk *disk) { return disk->calls; }
int fault_disk_has_failed(fault_disk *disk) { return disk->has_failed; }
void fault_disk_note(fault_disk *disk, int64_t value) { record(disk, FAULT_DISK_NOTED, "", 0, NULL, 0, value); }
size_t fault_disk_record_count(fault_disk *disk) { return disk->count; }

fault_disk_record fault_disk_record_at(fault_disk *disk, size_t place) {
    stored_record *found = &disk->records[place];
    return (fault_disk_record){
        found->change, found->file, found->other, found->offset, found->octets, found->count, found->value};
}
