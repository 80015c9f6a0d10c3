// The Linux calls that Glibc's module does not export, under their own names where Swift can see those, and as
// `latch_…` where a macro or a variadic call stands in the way.
//
// Without _GNU_SOURCE: it changes structures that Glibc's module has already defined, and no file could import both.
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

// epoll_event is packed on x86-64 and its payload is a union: Swift reads and writes it through these.
static inline int latch_epoll_add(int epoll, int fd, uint32_t events, uint64_t token) {
    struct epoll_event event = {.events = events, .data = {.u64 = token}};
    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

static inline int latch_epoll_modify(int epoll, int fd, uint32_t events, uint64_t token) {
    struct epoll_event event = {.events = events, .data = {.u64 = token}};
    return epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event);
}

static inline int latch_epoll_remove(int epoll, int fd) { return epoll_ctl(epoll, EPOLL_CTL_DEL, fd, 0); }

static inline uint64_t latch_epoll_token(const struct epoll_event *event) { return event->data.u64; }
static inline uint32_t latch_epoll_events(const struct epoll_event *event) { return event->events; }

static inline uint64_t latch_clock_nanoseconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// CLOCK_BOOTTIME goes on through suspend, which a relock deadline must.
static inline uint64_t latch_boottime_nanoseconds(void) { return latch_clock_nanoseconds(CLOCK_BOOTTIME); }

// Arms an absolute CLOCK_BOOTTIME timer; 0 disarms it.
static inline int latch_timerfd_set(int timer, uint64_t nanoseconds) {
    struct itimerspec at = {.it_value = {.tv_sec = (time_t)(nanoseconds / 1000000000u),
                                         .tv_nsec = (long)(nanoseconds % 1000000000u)}};
    return timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, 0);
}

static inline int latch_timerfd_create(void) { return timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC); }

static inline int latch_open(const char *path, int flags, mode_t mode) { return open(path, flags, mode); }
static inline int latch_fcntl(int fd, int command, int argument) { return fcntl(fd, command, argument); }

// Fills sun_path; -1 with ENAMETOOLONG when it does not fit.
static inline int latch_unix_address(struct sockaddr_un *address, const char *path) {
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    if (strlen(path) >= sizeof address->sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(address->sun_path, path);
    return 0;
}

// No core dumps and no ptrace from others: what is in memory stays there.
static inline int latch_forbid_core_dumps(void) {
    struct rlimit none = {0, 0};
    if (setrlimit(RLIMIT_CORE, &none) != 0) return -1;
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

// SOCK_* is an enum in Swift's Glibc and its flags are not all there.
static inline int latch_socket_flags(void) { return SOCK_NONBLOCK | SOCK_CLOEXEC; }
static inline int latch_message_flags(void) { return MSG_NOSIGNAL; }

// accept4 and struct ucred are declared for _GNU_SOURCE only.
static inline int latch_accept(int listener) {
    extern int accept4(int, struct sockaddr *, socklen_t *, int);
    return accept4(listener, 0, 0, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

// Who connected, as the kernel saw it when they did.
static inline int latch_peer_user(int connection, uid_t *user) {
    struct {
        pid_t pid;
        uid_t uid;
        gid_t gid;
    } credentials;
    socklen_t length = sizeof credentials;
    if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return -1;
    *user = credentials.uid;
    return 0;
}
