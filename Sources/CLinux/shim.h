// The Linux calls that Glibc's module does not export, under their own names where Swift can see those, and as
// `latch_…` where a macro or a variadic call stands in the way.
//
// Without _GNU_SOURCE: it changes structures that Glibc's module has already defined, and no file could import both.
#pragma once
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <termios.h>
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

// Reads around the cache, where the file system can. (O_DIRECT is declared for _GNU_SOURCE only, and differs by architecture.)
static inline int latch_open_direct(const char *path) {
    return open(path, O_RDONLY | __O_DIRECT | O_CLOEXEC | O_NOFOLLOW);
}

// Which pages of a file the cache has: the lowest bit of an octet for each. Reads none of them.
static inline int latch_cached_pages(int fd, size_t length, unsigned char *pages) {
    void *view = mmap(0, length, PROT_READ, MAP_SHARED, fd, 0);
    if (view == MAP_FAILED) return -1;
    int status = mincore(view, length, pages);
    munmap(view, length);
    return status;
}

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

static inline int latch_connect_unix(int fd, const struct sockaddr_un *address) {
    return connect(fd, (const struct sockaddr *)address, sizeof *address);
}

static inline int latch_datagram_socket(void) { return socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }

// Connects to a unix socket by path, or by its name in the abstract name space, which is written with an `@` first.
static inline int latch_connect_unix_name(int fd, const char *name) {
    struct sockaddr_un address;
    if (latch_unix_address(&address, name) < 0) return -1;
    socklen_t length = offsetof(struct sockaddr_un, sun_path) + strlen(name);
    if (name[0] == '@')
        address.sun_path[0] = 0;
    else
        length += 1;
    return connect(fd, (struct sockaddr *)&address, length);
}

// Fills a socket address from a numeric host, IPv4 or IPv6; its length, or -1 with EINVAL.
static inline int latch_tcp_address(struct sockaddr_storage *address, const char *host, uint16_t port) {
    memset(address, 0, sizeof *address);
    struct sockaddr_in *v4 = (struct sockaddr_in *)address;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)address;
    if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        return (int)sizeof *v4;
    }
    if (inet_pton(AF_INET6, host, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        return (int)sizeof *v6;
    }
    errno = EINVAL;
    return -1;
}

// Raw octets both ways at `speed` (a B… constant), 8N1, no modem lines but RTS and CTS if asked for.
static inline int latch_serial_configure(int fd, speed_t speed, int flow_control) {
    struct termios line;
    if (tcgetattr(fd, &line) != 0) return -1;
    cfmakeraw(&line);
    line.c_cflag |= CLOCAL | CREAD;
    line.c_cflag &= ~(tcflag_t)(CSTOPB | CRTSCTS);
    if (flow_control) line.c_cflag |= CRTSCTS;
    line.c_cc[VMIN] = 1;
    line.c_cc[VTIME] = 0;
    if (cfsetispeed(&line, speed) != 0 || cfsetospeed(&line, speed) != 0) return -1;
    if (tcsetattr(fd, TCSANOW, &line) != 0) return -1;
    // It succeeds when anything at all was changed: whether this was, is to be asked.
    struct termios taken;
    if (tcgetattr(fd, &taken) != 0) return -1;
    if (cfgetispeed(&taken) != speed || cfgetospeed(&taken) != speed ||
        ((taken.c_cflag ^ line.c_cflag) & (CRTSCTS | CSIZE | PARENB | CSTOPB)) != 0) {
        errno = EINVAL;
        return -1;
    }
    return tcflush(fd, TCIOFLUSH);
}

// The speed (a B… constant) that a line is set to, and whether RTS and CTS are used; 0 with errno.
static inline speed_t latch_serial_speed(int fd, int *flow_control) {
    struct termios line;
    if (tcgetattr(fd, &line) != 0) return B0;
    *flow_control = (line.c_cflag & CRTSCTS) != 0;
    return cfgetospeed(&line);
}

// Blocks the signals (a bit for each number, 1 << n) in this thread and those it starts later; a descriptor that
// reads them, or -1.
static inline int latch_signalfd(uint64_t signals) {
    sigset_t set;
    sigemptyset(&set);
    for (int number = 1; number < 64; number++)
        if (signals >> number & 1) sigaddset(&set, number);
    if (pthread_sigmask(SIG_BLOCK, &set, 0) != 0) return -1;
    return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

// Characters of a line and lines of the terminal that `fd` is.
static inline int latch_window_size(int fd, uint16_t *columns, uint16_t *rows) {
    struct winsize size;
    if (ioctl(fd, TIOCGWINSZ, &size) != 0) return -1;
    *columns = size.ws_col;
    *rows = size.ws_row;
    return 0;
}

// The number of the next signal, 0 when there is none.
static inline uint32_t latch_signalfd_read(int fd) {
    struct signalfd_siginfo info;
    return read(fd, &info, sizeof info) == (ssize_t)sizeof info ? info.ssi_signo : 0;
}

// The eventfd that a signal is told to; of the one source file that calls it.
static inline int *latch_told_descriptor(void) {
    static int descriptor = -1;
    return &descriptor;
}

static inline void latch_tell_signal(int number) {
    (void)number;
    int before = errno;
    uint64_t one = 1;
    (void)!write(*latch_told_descriptor(), &one, sizeof one);
    errno = before;
}

static inline int latch_has_action(int number, void (*handler)(int)) {
    struct sigaction action;
    return sigaction(number, 0, &action) == 0 && !(action.sa_flags & SA_SIGINFO) && action.sa_handler == handler;
}

static inline int latch_set_action(int number, void (*handler)(int)) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    return sigaction(number, &action, 0);
}

// Tells `descriptor`, an eventfd, of the signal in place of its default action. -1 when another action is set.
static inline int latch_take_signal(int number, int descriptor) {
    if (!latch_has_action(number, SIG_DFL)) return -1;
    *latch_told_descriptor() = descriptor;
    return latch_set_action(number, latch_tell_signal);
}

// The default action is set again, unless somebody has set another one meanwhile. -1 then.
static inline int latch_give_signal_back(int number) {
    return latch_has_action(number, latch_tell_signal) ? latch_set_action(number, SIG_DFL) : -1;
}

// Has this thread take the signal, with whatever action is set for it.
static inline void latch_raise(int number) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    pthread_sigmask(SIG_UNBLOCK, &set, 0);
    raise(number);
}

// No core dumps, no ptrace from others, and no report of a crash: what is in memory stays there. Swift's runtime shows the octets that
// registers point at, and the crashed process stands still for as long as that takes.
static inline int latch_forbid_dumps(void) {
    static const int crashes[] = {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGQUIT};
    for (size_t index = 0; index < sizeof crashes / sizeof crashes[0]; index++) {
        if (signal(crashes[index], SIG_DFL) == SIG_ERR) return -1;
    }
    struct rlimit none = {0, 0};
    if (setrlimit(RLIMIT_CORE, &none) != 0) return -1;
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

// SOCK_* is an enum in Swift's Glibc and its flags are not all there.
static inline int latch_socket_flags(void) { return SOCK_NONBLOCK | SOCK_CLOEXEC; }
static inline int latch_message_flags(void) { return MSG_NOSIGNAL; }
static inline int latch_stream(void) { return SOCK_STREAM; }
static inline int latch_sequenced_packets(void) { return SOCK_SEQPACKET; }

// Zeros that no compiler leaves out.
static inline void latch_wipe(void *octets, size_t count) {
    memset(octets, 0, count);
    __asm__ volatile("" : : "r"(octets) : "memory");
}

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

// Whether who connected was in the group when they did, by the group of their process or by one of its others: 1 or 0; -1
// where the kernel does not say.
static inline int latch_peer_is_member(int connection, gid_t group) {
    struct {
        pid_t pid;
        uid_t uid;
        gid_t gid;
    } credentials;
    socklen_t length = sizeof credentials;
    if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return -1;
    if (credentials.gid == group) return 1;
    // Without room it says how much it wants: 256 KiB at most, for the greatest number of groups that a process can have.
    length = 0;
    if (getsockopt(connection, SOL_SOCKET, SO_PEERGROUPS, 0, &length) == 0) return 0;
    gid_t *groups = errno == ERANGE ? (gid_t *)malloc(length) : 0;
    if (groups == 0) return -1;
    int found = getsockopt(connection, SOL_SOCKET, SO_PEERGROUPS, groups, &length) == 0 ? 0 : -1;
    for (socklen_t each = 0; found == 0 && each < length / sizeof *groups; each++)
        if (groups[each] == group) found = 1;
    free(groups);
    return found;
}

// Starts `arguments[0]` with these descriptors as its standard ones and this environment (0: this process's own), no signal
// blocked, and an end by SIGKILL when the thread that started it ends. The process id, or -1.
static inline pid_t latch_spawn(
    char *const arguments[], char *const environment[], int input, int output, int error) {
    pid_t parent = getpid();
    pid_t child = fork();
    if (child != 0) return child;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, 0);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || getppid() != parent) _exit(127);
    if (dup2(input, 0) < 0 || dup2(output, 1) < 0 || dup2(error, 2) < 0) _exit(127);
    execve(arguments[0], arguments, environment ? environment : __environ);
    _exit(127);
}

// Starts a program that somebody else has written, `arguments[0]`, in a process group of its own and in the root directory, with
// `input` for its standard input (-1: nothing to read), a standard output that nobody reads and this process's standard error. It
// has this environment, `kept` as descriptor 3 (-1: none) and no other one, no signal blocked or ignored, and no capability that
// this process was given to pass on. 0, or an error number.
static inline int latch_spawn_alone(
    pid_t *child, char *const arguments[], char *const environment[], int input, int kept) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int failure = posix_spawn_file_actions_init(&actions);
    if (failure != 0) return failure;
    if ((failure = posix_spawnattr_init(&attributes)) != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return failure;
    }
    failure = input < 0 ? posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
                        : posix_spawn_file_actions_adddup2(&actions, input, 0);
    if (failure == 0 && (failure = posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)) == 0 &&
        (failure = kept < 0 ? 0 : posix_spawn_file_actions_adddup2(&actions, kept, 3)) == 0 &&
        (failure = posix_spawn_file_actions_addclosefrom_np(&actions, kept < 0 ? 3 : 4)) == 0 &&
        (failure = posix_spawn_file_actions_addchdir_np(&actions, "/")) == 0 &&
        (failure = posix_spawnattr_setflags(
             &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP)) == 0 &&
        (failure = posix_spawnattr_setsigmask(&attributes, &none)) == 0 &&
        (failure = posix_spawnattr_setsigdefault(&attributes, &all)) == 0 &&
        (failure = posix_spawnattr_setpgroup(&attributes, 0)) == 0) {
        // Of this thread: it keeps what it has itself. A kernel without ambient capabilities has nothing to pass on.
        (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
        failure = posix_spawn(child, arguments[0], &actions, &attributes, arguments, environment);
    }
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failure;
}

// Readable once the process has ended; -1 without one.
static inline int latch_pidfd_open(pid_t process) { return (int)syscall(SYS_pidfd_open, process, 0); }

// Columns of a terminal; 0 where it does not say. ioctl is variadic, which Swift does not call.
static inline int latch_terminal_columns(int fd) {
    struct winsize size;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

// ppoll is declared for _GNU_SOURCE only: waits for nanoseconds rather than milliseconds.
static inline int latch_poll(struct pollfd *interests, nfds_t count, uint64_t nanoseconds) {
    struct timespec time = {.tv_sec = (time_t)(nanoseconds / 1000000000u), .tv_nsec = (long)(nanoseconds % 1000000000u)};
    return (int)syscall(SYS_ppoll, interests, count, &time, 0, 0);
}

// Unlike a pid, never shared by two that are at work at the same time.
static inline int latch_thread_id(void) { return (int)syscall(SYS_gettid); }

// Takes room in a file without making it longer (fallocate and its flag are declared for _GNU_SOURCE only).
static inline int latch_allocate_ahead(int fd, off_t offset, off_t length) {
    const int keep_size = 1;
    extern int fallocate(int, int, off_t, off_t);
    return fallocate(fd, keep_size, offset, length);
}
