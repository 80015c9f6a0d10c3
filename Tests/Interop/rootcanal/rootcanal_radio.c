// rootcanal_radio: RootCanal's controllers on one air, behind a unix socket.
//
//     rootcanal_radio LIBRARY SOCKET CONTROL
//
// LIBRARY is librootcanal_ffi.so. Each connection to SOCKET is a controller of its own that speaks H4; a closed
// connection is a controller gone. Controllers are numbered from 1 in the order of their connections, numbers are never
// used twice, and each is told on standard output. CONTROL takes datagrams and answers each with "ok" or why not:
//
//     rssi A B DBM    what A and B hear each other at
//     cut A B         nothing gets from one to the other any more
//     join A B        it does again
//
// One thread, no locks: the library is called from here alone, and time passes for it when it is ticked.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    ordinals_max = 250,
    default_rssi_dbm = -50,
    // RootCanal does what is due when it is ticked: the shortest time that it can measure.
    tick_milliseconds = 5,
    // The rounds of an exchange (request, answer, acknowledgement, …) that one wake-up carries through.
    rounds_max = 8,
    // A host that does not read what its controller says is cut off, before it takes the machine's memory.
    outbox_octets_max = 16 << 20,
    log_level_warning = 2,
};

// H4, Core 5.4, Vol 4, Part A, 2: each packet has its type before it.
enum {
    h4_command = 0x01,
    h4_acl = 0x02,
    h4_event = 0x04,
    h4_packet_octets_max = 1 + 4 + 0xFFFF,
};

static void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

static void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "rootcanal_radio: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    exit(1);
}

static void *allocate(void *old, size_t octets) {
    void *memory = realloc(old, octets);
    if (memory == NULL) fail("out of memory");
    return memory;
}

// The library.

typedef void send_hci_function(void *cookie, int type, const uint8_t *octets, size_t count);
typedef void send_ll_function(void *cookie, const uint8_t *octets, size_t count, int phy, int tx_power_dbm);
typedef void invalid_packet_function(
    void *cookie, int reason, const char *message, const uint8_t *octets, size_t count);
typedef unsigned ranging_function(void *cookie, const uint8_t source[6], const uint8_t target[6]);
typedef void log_function(int level, const char *file, int line, const char *message);

static struct {
    void *(*controller_new)(
        const uint8_t address[6], send_hci_function *, send_ll_function *, invalid_packet_function *,
        ranging_function *, void *cookie, const uint8_t *properties, size_t properties_count);
    void (*controller_delete)(void *model);
    void (*receive_hci)(void *model, int type, const uint8_t *octets, size_t count);
    void (*receive_ll)(void *model, const uint8_t *octets, size_t count, int phy, int rssi_dbm);
    void (*tick)(void *model);
    void (*set_log_callback)(log_function *);
} rootcanal;

static void show_log(int level, const char *file, int line, const char *message) {
    if (level >= log_level_warning) fprintf(stderr, "rootcanal: %s:%d: %s\n", file, line, message);
}

static void open_library(const char *path) {
    void *library = dlopen(path, RTLD_NOW);
    if (library == NULL) fail("%s", dlerror());
    const struct {
        const char *name;
        void *function;
    } symbols[] = {
        {"ffi_controller_new", &rootcanal.controller_new},
        {"ffi_controller_delete", &rootcanal.controller_delete},
        {"ffi_controller_receive_hci", &rootcanal.receive_hci},
        {"ffi_controller_receive_ll", &rootcanal.receive_ll},
        {"ffi_controller_tick", &rootcanal.tick},
        {"ffi_set_log_callback", &rootcanal.set_log_callback},
    };
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *found = dlsym(library, symbols[i].name);
        if (found == NULL) fail("%s has no %s", path, symbols[i].name);
        memcpy(symbols[i].function, &found, sizeof found);
    }
    rootcanal.set_log_callback(show_log);
}

// The air: what was sent is delivered when the library has returned, for it may not be entered twice.

struct controller {
    int ordinal;
    int descriptor;
    bool is_gone;
    void *model;
    size_t inbox_count;
    uint8_t inbox[h4_packet_octets_max];
    uint8_t *outbox;
    size_t outbox_count, outbox_capacity;
};

struct transmission {
    struct transmission *next;
    int sender, phy;
    size_t count;
    uint8_t octets[];
};

// By ordinal; 0 is nobody.
static struct controller *controllers[ordinals_max + 1];
static int8_t rssi_dbm[ordinals_max + 1][ordinals_max + 1];
static bool is_cut[ordinals_max + 1][ordinals_max + 1];
static int last_ordinal;
static struct transmission *first_transmission, **last_transmission = &first_transmission;

static void transmit(void *cookie, const uint8_t *octets, size_t count, int phy, int tx_power_dbm) {
    (void)tx_power_dbm;
    const struct controller *sender = cookie;
    struct transmission *sent = allocate(NULL, sizeof *sent + count);
    *sent = (struct transmission){.sender = sender->ordinal, .phy = phy, .count = count};
    memcpy(sent->octets, octets, count);
    *last_transmission = sent;
    last_transmission = &sent->next;
}

// Everything in the air reaches everybody who can hear it; whom it is meant for is the controllers' to know.
static void deliver(void) {
    while (first_transmission != NULL) {
        struct transmission *sent = first_transmission;
        first_transmission = sent->next;
        if (first_transmission == NULL) last_transmission = &first_transmission;
        for (int to = 1; to <= last_ordinal; to++) {
            struct controller *receiver = controllers[to];
            if (receiver == NULL || receiver->is_gone || to == sent->sender || is_cut[sent->sender][to]) continue;
            rootcanal.receive_ll(receiver->model, sent->octets, sent->count, sent->phy, rssi_dbm[sent->sender][to]);
        }
        free(sent);
    }
}

static void tick_all(void) {
    for (int ordinal = 1; ordinal <= last_ordinal; ordinal++) {
        struct controller *controller = controllers[ordinal];
        if (controller != NULL && !controller->is_gone) rootcanal.tick(controller->model);
    }
}

// The library schedules its answers for the next tick. Ticking until the air is quiet, and not just at the timer, makes
// a round trip cost what it computes instead of a timer's period.
static void settle(void) {
    deliver();
    for (int round = 0; round < rounds_max; round++) {
        tick_all();
        if (first_transmission == NULL) return;
        deliver();
    }
}

// To the host.

static void send_to_host(void *cookie, int type, const uint8_t *octets, size_t count) {
    struct controller *controller = cookie;
    if (controller->is_gone) return;
    const size_t needed = controller->outbox_count + 1 + count;
    if (needed > outbox_octets_max) {
        fprintf(stderr, "rootcanal_radio: host %d does not read: cut off\n", controller->ordinal);
        controller->is_gone = true;
        return;
    }
    if (needed > controller->outbox_capacity) {
        controller->outbox_capacity = needed * 2;
        controller->outbox = allocate(controller->outbox, controller->outbox_capacity);
    }
    controller->outbox[controller->outbox_count] = (uint8_t)type;
    memcpy(controller->outbox + controller->outbox_count + 1, octets, count);
    controller->outbox_count = needed;
}

static void show_invalid_packet(
    void *cookie, int reason, const char *message, const uint8_t *octets, size_t count) {
    const struct controller *controller = cookie;
    fprintf(stderr, "rootcanal_radio: invalid packet from host %d (%d, %s):", controller->ordinal, reason, message);
    for (size_t i = 0; i < count; i++) fprintf(stderr, " %02x", octets[i]);
    fprintf(stderr, "\n");
}

static void flush(int epoll, struct controller *controller) {
    size_t sent = 0;
    while (sent < controller->outbox_count) {
        const ssize_t count = send(
            controller->descriptor, controller->outbox + sent, controller->outbox_count - sent,
            MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count > 0) {
            sent += (size_t)count;
        } else if (errno != EINTR) {
            if (errno != EAGAIN) controller->is_gone = true;
            break;
        }
    }
    controller->outbox_count -= sent;
    memmove(controller->outbox, controller->outbox + sent, controller->outbox_count);
    struct epoll_event interest = {
        .events = EPOLLIN | (controller->outbox_count > 0 ? EPOLLOUT : 0), .data.ptr = controller};
    if (epoll_ctl(epoll, EPOLL_CTL_MOD, controller->descriptor, &interest) != 0) fail("epoll_ctl: %m");
}

// From the host.

// How long the packet at the head of `octets` is: 0 while that cannot be told, -1 for what is no packet of a host.
static ssize_t packet_length(const uint8_t *octets, size_t count) {
    if (count == 0) return 0;
    switch (octets[0]) {
    case h4_command: return count < 4 ? 0 : 4 + octets[3];
    case h4_acl: return count < 5 ? 0 : 5 + (octets[3] | octets[4] << 8);
    default: return -1;
    }
}

// RootCanal 1.13 says in its supported commands that it knows these, and aborts when it gets one. A controller that
// does not know a command says so.
static bool is_declared_but_missing(uint16_t opcode) {
    return opcode == 0x2015   // LE Read Channel Map
        || opcode == 0x0C7B   // Read Authenticated Payload Timeout
        || opcode == 0x0C7C;  // Write Authenticated Payload Timeout
}

static void refuse_command(struct controller *controller, const uint8_t *packet, size_t length) {
    enum { unknown_command = 0x01, command_complete = 0x0E };
    // Their return parameters begin with the status and the connection handle.
    const uint8_t handle[2] = {length >= 6 ? packet[4] : 0, length >= 6 ? packet[5] : 0};
    const uint8_t event[] = {command_complete, 6, 1, packet[1], packet[2], unknown_command, handle[0], handle[1]};
    send_to_host(controller, h4_event, event, sizeof event);
}

static void take_packet(struct controller *controller, const uint8_t *packet, size_t length) {
    if (packet[0] == h4_command && is_declared_but_missing((uint16_t)(packet[1] | packet[2] << 8))) {
        refuse_command(controller, packet, length);
    } else {
        rootcanal.receive_hci(controller->model, packet[0], packet + 1, length - 1);
    }
}

static void read_from_host(struct controller *controller) {
    const ssize_t count = recv(
        controller->descriptor, controller->inbox + controller->inbox_count,
        sizeof controller->inbox - controller->inbox_count, MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) {
        controller->is_gone = true;
        return;
    }
    controller->inbox_count += (size_t)count;
    size_t taken = 0;
    for (;;) {
        const size_t left = controller->inbox_count - taken;
        const ssize_t length = packet_length(controller->inbox + taken, left);
        if (length < 0) {
            fprintf(stderr, "rootcanal_radio: host %d lost the H4 framing: cut off\n", controller->ordinal);
            controller->is_gone = true;
            return;
        }
        if (length == 0 || (size_t)length > left) break;
        take_packet(controller, controller->inbox + taken, (size_t)length);
        taken += (size_t)length;
    }
    controller->inbox_count -= taken;
    memmove(controller->inbox, controller->inbox + taken, controller->inbox_count);
}

// Controllers come and go.

static void admit(int epoll, int listener) {
    const int descriptor = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor < 0) return;
    if (last_ordinal == ordinals_max) fail("more than %d connections: start a radio for each suite", ordinals_max);
    struct controller *controller = calloc(1, sizeof *controller);
    if (controller == NULL) fail("out of memory");
    controller->ordinal = ++last_ordinal;
    controller->descriptor = descriptor;
    controllers[controller->ordinal] = controller;
    const uint8_t address[6] = {(uint8_t)controller->ordinal, 0x00, 0x00, 0x01, 0xAA, 0x00};
    controller->model = rootcanal.controller_new(
        address, send_to_host, transmit, show_invalid_packet, NULL, controller, NULL, 0);
    struct epoll_event interest = {.events = EPOLLIN, .data.ptr = controller};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &interest) != 0) fail("epoll_ctl: %m");
    printf("controller %d\n", controller->ordinal);
}

// Nobody is told: those who were connected to it hear no more of it, and their supervision timeouts say so.
static void remove_gone(void) {
    for (int ordinal = 1; ordinal <= last_ordinal; ordinal++) {
        struct controller *controller = controllers[ordinal];
        if (controller == NULL || !controller->is_gone) continue;
        controllers[ordinal] = NULL;
        close(controller->descriptor);
        rootcanal.controller_delete(controller->model);
        free(controller->outbox);
        free(controller);
        printf("controller %d gone\n", ordinal);
    }
}

// The control socket.

static const char *obey(const char *line) {
    char verb[8];
    int a, b, dbm, end = 0;
    if (sscanf(line, "%7s %d %d %n", verb, &a, &b, &end) != 3) return "a verb and two ordinals, please";
    if (a < 1 || a > last_ordinal || b < 1 || b > last_ordinal || a == b) return "no such two controllers";
    if (strcmp(verb, "rssi") == 0) {
        if (sscanf(line + end, "%d", &dbm) != 1 || dbm < -127 || dbm > 20) return "an RSSI is -127 to 20 dBm";
        rssi_dbm[a][b] = rssi_dbm[b][a] = (int8_t)dbm;
    } else if (strcmp(verb, "cut") == 0 || strcmp(verb, "join") == 0) {
        is_cut[a][b] = is_cut[b][a] = strcmp(verb, "cut") == 0;
    } else {
        return "rssi, cut and join are the verbs";
    }
    return "ok";
}

static void read_control(int control) {
    char line[128];
    struct sockaddr_un sender;
    socklen_t sender_length = sizeof sender;
    const ssize_t count =
        recvfrom(control, line, sizeof line - 1, MSG_DONTWAIT, (struct sockaddr *)&sender, &sender_length);
    if (count < 0) return;
    line[count] = '\0';
    const char *answer = obey(line);
    // A sender without an address wants no answer.
    if (sender_length > sizeof sender.sun_family)
        sendto(control, answer, strlen(answer), MSG_DONTWAIT, (struct sockaddr *)&sender, sender_length);
}

// The loop.

static int open_socket(const char *path, int type) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) fail("%s is too long for a socket", path);
    strcpy(address.sun_path, path);
    const int descriptor = socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor < 0) fail("socket: %m");
    if (unlink(path) != 0 && errno != ENOENT) fail("%s: %m", path);
    if (bind(descriptor, (struct sockaddr *)&address, sizeof address) != 0) fail("%s: %m", path);
    if (type == SOCK_STREAM && listen(descriptor, 16) != 0) fail("%s: %m", path);
    return descriptor;
}

static int open_timer(void) {
    const int descriptor = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    const struct timespec period = {.tv_nsec = tick_milliseconds * 1000000L};
    const struct itimerspec times = {.it_interval = period, .it_value = period};
    if (descriptor < 0 || timerfd_settime(descriptor, 0, &times, NULL) != 0) fail("timerfd: %m");
    return descriptor;
}

int main(int count, char **arguments) {
    if (count != 4) fail("usage: rootcanal_radio LIBRARY SOCKET CONTROL");
    signal(SIGPIPE, SIG_IGN);
    setvbuf(stdout, NULL, _IOLBF, 0);
    open_library(arguments[1]);
    memset(rssi_dbm, default_rssi_dbm, sizeof rssi_dbm);

    int control = open_socket(arguments[3], SOCK_DGRAM), timer = open_timer();
    int listener = open_socket(arguments[2], SOCK_STREAM);
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0) fail("epoll_create1: %m");
    int *const sources[] = {&listener, &control, &timer};
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        struct epoll_event interest = {.events = EPOLLIN, .data.ptr = sources[i]};
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, *sources[i], &interest) != 0) fail("epoll_ctl: %m");
    }
    printf("ready\n");

    for (;;) {
        struct epoll_event events[16];
        const int ready = epoll_wait(epoll, events, sizeof events / sizeof *events, -1);
        if (ready < 0 && errno != EINTR) fail("epoll_wait: %m");
        for (int i = 0; i < ready; i++) {
            void *source = events[i].data.ptr;
            uint64_t expirations;
            if (source == &listener) {
                admit(epoll, listener);
            } else if (source == &control) {
                read_control(control);
            } else if (source == &timer) {
                // Missed ticks are made up for by the next: RootCanal reads the clock itself.
                if (read(timer, &expirations, sizeof expirations) < 0 && errno != EAGAIN) fail("timerfd: %m");
            } else if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
                read_from_host(source);
            }
        }
        settle();
        for (int ordinal = 1; ordinal <= last_ordinal; ordinal++) {
            struct controller *controller = controllers[ordinal];
            if (controller != NULL && !controller->is_gone && controller->outbox_count > 0) flush(epoll, controller);
        }
        // Last, so that nothing above meets a controller that has been freed.
        remove_gone();
    }
}
