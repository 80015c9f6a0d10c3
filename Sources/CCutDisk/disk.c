#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#define FUSE_USE_VERSION 35
#include "CutDisk.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse_lowlevel.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { file_inode = 2 };
static const char file_name[] = "disk";

struct change {
    off_t offset;
    size_t count;
    uint8_t *octets;
};

struct cut_disk {
    pthread_mutex_t mutex;
    // Whether the operation that the power goes at has somebody to kill, or has nobody to wait for any more.
    pthread_cond_t may_go_on;
    pthread_t thread;
    struct fuse_session *session;
    size_t size;
    // What reads show, and what is there when the power goes. Both begin as the image, and are copied page by page as they change.
    uint8_t *shown, *medium;
    struct change *changes;
    size_t change_count, change_room;
    int64_t operations, cut_at;
    // A descriptor: its number does not become another process's.
    int process;
    int lies, is_cut, open_count;
    char kind;
};

int cut_disk_own_mounts(void) {
    if (unshare(CLONE_NEWNS) != 0) return -1;
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

int cut_disk_flush_all(const char *directory) {
    int folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return -1;
    int result = syncfs(folder);
    int error = errno;
    close(folder);
    errno = error;
    return result;
}

// MARK: The disk

// Whether the power is there still; with the mutex. `kind` of the operation that asks.
static int has_power(cut_disk *disk, char kind) {
    if (disk->is_cut) return 0;
    disk->operations++;
    if (disk->cut_at == 0 || disk->operations != disk->cut_at) return 1;
    disk->is_cut = 1;
    disk->kind = kind;
    // Before anybody hears of this operation's end: nothing can rest on it.
    while (disk->process < 0 && disk->cut_at != 0) pthread_cond_wait(&disk->may_go_on, &disk->mutex);
    if (disk->process >= 0) syscall(SYS_pidfd_send_signal, disk->process, SIGKILL, NULL, 0);
    return 0;
}

static int add_change(cut_disk *disk, off_t offset, size_t count, const uint8_t *octets) {
    if (disk->change_count == disk->change_room) {
        size_t room = disk->change_room ? 2 * disk->change_room : 64;
        struct change *grown = realloc(disk->changes, room * sizeof *grown);
        if (!grown) return -1;
        disk->changes = grown;
        disk->change_room = room;
    }
    uint8_t *copy = malloc(count);
    if (!copy) return -1;
    memcpy(copy, octets, count);
    disk->changes[disk->change_count++] = (struct change){offset, count, copy};
    return 0;
}

static void forget_changes(cut_disk *disk) {
    for (size_t place = 0; place < disk->change_count; place++) free(disk->changes[place].octets);
    disk->change_count = 0;
}

static int write_octets(cut_disk *disk, off_t offset, size_t count, const uint8_t *octets) {
    if (offset < 0 || (size_t)offset > disk->size || count > disk->size - (size_t)offset) return ENOSPC;
    if (disk->is_cut) return EIO;
    // Also the write that the power goes at may be on the medium.
    if (add_change(disk, offset, count, octets) != 0) return ENOMEM;
    if (!has_power(disk, 'w')) return EIO;
    memcpy(disk->shown + offset, octets, count);
    return 0;
}

static int flush(cut_disk *disk) {
    if (!has_power(disk, 'f')) return EIO;
    if (disk->lies) return 0;
    for (size_t place = 0; place < disk->change_count; place++) {
        struct change *change = &disk->changes[place];
        memcpy(disk->medium + change->offset, change->octets, change->count);
    }
    forget_changes(disk);
    return 0;
}

// MARK: The file system of one file

static void describe(cut_disk *disk, fuse_ino_t inode, struct stat *status) {
    memset(status, 0, sizeof *status);
    status->st_ino = inode;
    status->st_nlink = 1;
    status->st_mode = inode == FUSE_ROOT_ID ? S_IFDIR | 0700 : S_IFREG | 0600;
    if (inode == file_inode) status->st_size = (off_t)disk->size;
}

static void on_lookup(fuse_req_t request, fuse_ino_t parent, const char *name) {
    if (parent != FUSE_ROOT_ID || strcmp(name, file_name) != 0) {
        fuse_reply_err(request, ENOENT);
        return;
    }
    struct fuse_entry_param entry = {.ino = file_inode, .attr_timeout = 1, .entry_timeout = 1};
    describe(fuse_req_userdata(request), file_inode, &entry.attr);
    fuse_reply_entry(request, &entry);
}

static void on_getattr(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info) {
    (void)info;
    struct stat status;
    describe(fuse_req_userdata(request), inode, &status);
    fuse_reply_attr(request, &status, 1);
}

static void on_open(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info) {
    cut_disk *disk = fuse_req_userdata(request);
    if (inode != file_inode) {
        fuse_reply_err(request, EISDIR);
        return;
    }
    // What the medium has changes behind the kernel's back when the power comes again.
    info->direct_io = 1;
    pthread_mutex_lock(&disk->mutex);
    disk->open_count++;
    pthread_mutex_unlock(&disk->mutex);
    fuse_reply_open(request, info);
}

static void on_release(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info) {
    (void)inode, (void)info;
    cut_disk *disk = fuse_req_userdata(request);
    pthread_mutex_lock(&disk->mutex);
    disk->open_count--;
    pthread_mutex_unlock(&disk->mutex);
    fuse_reply_err(request, 0);
}

static void on_read(fuse_req_t request, fuse_ino_t inode, size_t count, off_t offset, struct fuse_file_info *info) {
    (void)inode, (void)info;
    cut_disk *disk = fuse_req_userdata(request);
    pthread_mutex_lock(&disk->mutex);
    size_t left = offset < 0 || (size_t)offset > disk->size ? 0 : disk->size - (size_t)offset;
    if (disk->is_cut) {
        fuse_reply_err(request, EIO);
    } else {
        fuse_reply_buf(request, (const char *)disk->shown + offset, count < left ? count : left);
    }
    pthread_mutex_unlock(&disk->mutex);
}

static void on_write(
    fuse_req_t request, fuse_ino_t inode, const char *octets, size_t count, off_t offset, struct fuse_file_info *info) {
    (void)inode, (void)info;
    cut_disk *disk = fuse_req_userdata(request);
    pthread_mutex_lock(&disk->mutex);
    int error = write_octets(disk, offset, count, (const uint8_t *)octets);
    pthread_mutex_unlock(&disk->mutex);
    if (error) {
        fuse_reply_err(request, error);
    } else {
        fuse_reply_write(request, count);
    }
}

static void on_fsync(fuse_req_t request, fuse_ino_t inode, int data_only, struct fuse_file_info *info) {
    (void)inode, (void)data_only, (void)info;
    cut_disk *disk = fuse_req_userdata(request);
    pthread_mutex_lock(&disk->mutex);
    int error = flush(disk);
    pthread_mutex_unlock(&disk->mutex);
    fuse_reply_err(request, error);
}

static const struct fuse_lowlevel_ops operations = {
    .lookup = on_lookup,
    .getattr = on_getattr,
    .open = on_open,
    .release = on_release,
    .read = on_read,
    .write = on_write,
    .fsync = on_fsync,
};

static void *serve(void *context) {
    cut_disk *disk = context;
    fuse_session_loop(disk->session);
    return NULL;
}

// MARK: Its life

static int load(cut_disk *disk, const char *image) {
    int file = open(image, O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    struct stat status;
    int result = fstat(file, &status);
    if (result == 0) {
        disk->size = (size_t)status.st_size;
        disk->shown = mmap(NULL, disk->size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
        disk->medium = mmap(NULL, disk->size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
        if (disk->shown == MAP_FAILED || disk->medium == MAP_FAILED) result = -1;
    }
    close(file);
    return result;
}

static void release_memory(cut_disk *disk) {
    forget_changes(disk);
    free(disk->changes);
    if (disk->shown && disk->shown != MAP_FAILED) munmap(disk->shown, disk->size);
    if (disk->medium && disk->medium != MAP_FAILED) munmap(disk->medium, disk->size);
    pthread_mutex_destroy(&disk->mutex);
    pthread_cond_destroy(&disk->may_go_on);
    if (disk->process >= 0) close(disk->process);
    free(disk);
}

cut_disk *cut_disk_begin(const char *image, const char *directory) {
    cut_disk *disk = calloc(1, sizeof *disk);
    if (!disk) return NULL;
    disk->process = -1;
    pthread_mutex_init(&disk->mutex, NULL);
    pthread_cond_init(&disk->may_go_on, NULL);
    char *words[] = {"latch-lab", NULL};
    struct fuse_args arguments = FUSE_ARGS_INIT(1, words);
    if (load(disk, image) != 0) goto failed;
    disk->session = fuse_session_new(&arguments, &operations, sizeof operations, disk);
    if (!disk->session) goto failed;
    if (fuse_session_mount(disk->session, directory) != 0) goto destroyed;
    // Signals are other threads' business.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int status = pthread_create(&disk->thread, NULL, serve, disk);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (status == 0) return disk;
    errno = status;
    fuse_session_unmount(disk->session);
destroyed:
    fuse_session_destroy(disk->session);
failed:;
    int error = errno;
    release_memory(disk);
    errno = error ? error : EIO;
    return NULL;
}

void cut_disk_end(cut_disk *disk) {
    // The thread of an operation that waits for a process has to end too.
    cut_disk_arm(disk, 0, 0);
    fuse_session_exit(disk->session);
    // The loop sees its end when the kernel has nothing more to ask.
    fuse_session_unmount(disk->session);
    pthread_join(disk->thread, NULL);
    fuse_session_destroy(disk->session);
    release_memory(disk);
}

void cut_disk_arm(cut_disk *disk, int64_t count, int lies) {
    pthread_mutex_lock(&disk->mutex);
    disk->operations = 0;
    disk->cut_at = count;
    if (disk->process >= 0) close(disk->process);
    disk->process = -1;
    disk->lies = lies;
    pthread_cond_broadcast(&disk->may_go_on);
    pthread_mutex_unlock(&disk->mutex);
}

int cut_disk_set_process(cut_disk *disk, int process) {
    int copy = fcntl(process, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) return -1;
    pthread_mutex_lock(&disk->mutex);
    disk->process = copy;
    pthread_cond_broadcast(&disk->may_go_on);
    pthread_mutex_unlock(&disk->mutex);
    return 0;
}

int64_t cut_disk_count(cut_disk *disk) {
    pthread_mutex_lock(&disk->mutex);
    int64_t count = disk->operations;
    pthread_mutex_unlock(&disk->mutex);
    return count;
}

int cut_disk_is_cut(cut_disk *disk) {
    pthread_mutex_lock(&disk->mutex);
    int is_cut = disk->is_cut;
    pthread_mutex_unlock(&disk->mutex);
    return is_cut;
}

char cut_disk_cut_at(cut_disk *disk) {
    pthread_mutex_lock(&disk->mutex);
    char kind = disk->kind;
    pthread_mutex_unlock(&disk->mutex);
    return kind;
}

int cut_disk_is_open(cut_disk *disk) {
    pthread_mutex_lock(&disk->mutex);
    int count = disk->open_count;
    pthread_mutex_unlock(&disk->mutex);
    return count > 0;
}

int64_t cut_disk_unflushed(cut_disk *disk) {
    pthread_mutex_lock(&disk->mutex);
    int64_t count = (int64_t)disk->change_count;
    pthread_mutex_unlock(&disk->mutex);
    return count;
}

int64_t cut_disk_unflushed_octets(cut_disk *disk, int64_t place) {
    pthread_mutex_lock(&disk->mutex);
    int64_t count = place < (int64_t)disk->change_count ? (int64_t)disk->changes[place].count : 0;
    pthread_mutex_unlock(&disk->mutex);
    return count;
}

void cut_disk_restore(cut_disk *disk, const int64_t *survivors) {
    pthread_mutex_lock(&disk->mutex);
    for (size_t place = 0; place < disk->change_count; place++) {
        struct change *change = &disk->changes[place];
        size_t count = survivors[place] < 0 ? 0 : (size_t)survivors[place];
        memcpy(disk->medium + change->offset, change->octets, count < change->count ? count : change->count);
    }
    // Elsewhere the two are the same.
    for (size_t place = 0; place < disk->change_count; place++) {
        struct change *change = &disk->changes[place];
        memcpy(disk->shown + change->offset, disk->medium + change->offset, change->count);
    }
    forget_changes(disk);
    disk->cut_at = 0;
    disk->is_cut = 0;
    disk->lies = 0;
    pthread_mutex_unlock(&disk->mutex);
}
