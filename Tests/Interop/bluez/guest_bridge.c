// Carries octets between a serial port of the virtual machine and something inside.
//
//     guest_bridge packets PORT           /dev/vhci: the kernel's end of a controller, which speaks H4 packets
//     guest_bridge octets PORT SOCKET     a unix socket, connected to with the first octet that comes
//
// Ends, with a line that says why, when either side has ended or the port's octets are no H4.

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    // The largest HCI packet: ACL data with 65535 octets, five of header and indicator.
    PACKET_OCTETS = 5 + 65535,
    // Core 5.4, Vol 4, Part A, 2 (Protocol)
    H4_ACL_DATA = 0x02,
    H4_EVENT = 0x04,
    // Of /dev/vhci: asks for a controller, and tells which one was made.
    VHCI_CONTROL = 0xFF,
    VHCI_PRIMARY = 0x00,
};

static void fail(const char *what) {
    fprintf(stderr, "guest_bridge: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void end(const char *why) {
    fprintf(stderr, "guest_bridge: %s\n", why);
    exit(0);
}

static void write_all(int to, const uint8_t *octets, size_t count) {
    while (count > 0) {
        ssize_t written = write(to, octets, count);
        if (written < 0) {
            if (errno == EINTR) continue;
            fail("write");
        }
        octets += written;
        count -= (size_t)written;
    }
}

static size_t read_some(int from, uint8_t *octets, size_t count) {
    for (;;) {
        ssize_t got = read(from, octets, count);
        if (got > 0) return (size_t)got;
        if (got == 0) end("the other side has closed");
        if (errno != EINTR) fail("read");
    }
}

static int open_device(const char *path) {
    int device = open(path, O_RDWR | O_CLOEXEC);
    if (device < 0) fail(path);
    return device;
}

// The octets of the packet that begins here; 0 if the ones there are do not tell yet.
static size_t packet_octets(const uint8_t *packet, size_t count) {
    switch (packet[0]) {
    case H4_EVENT: return count < 3 ? 0 : 3 + (size_t)packet[2];
    case H4_ACL_DATA: return count < 5 ? 0 : 5 + (size_t)(packet[3] | packet[4] << 8);
    default: errno = EPROTO; fail("the controller sent what is no H4 packet");
    }
    return 0;
}

// An adapter that nobody has up takes nothing: its controller speaks to nobody then, as one on a wire does.
static void deliver(int vhci, const uint8_t *packet, size_t count) {
    while (write(vhci, packet, count) < 0) {
        if (errno == ENXIO) return;
        if (errno != EINTR) fail("write");
    }
}

static void bridge_packets(int port) {
    static uint8_t inbound[PACKET_OCTETS], outbound[PACKET_OCTETS];
    size_t held = 0;
    int vhci = open_device("/dev/vhci");
    const uint8_t request[] = {VHCI_CONTROL, VHCI_PRIMARY};
    write_all(vhci, request, sizeof request);

    struct pollfd ready[] = {{.fd = vhci, .events = POLLIN}, {.fd = port, .events = POLLIN}};
    while (poll(ready, 2, -1) >= 0 || errno == EINTR) {
        if (ready[0].revents & POLLIN) {
            size_t count = read_some(vhci, outbound, sizeof outbound);
            if (outbound[0] != VHCI_CONTROL) write_all(port, outbound, count);
        }
        if (ready[1].revents & POLLHUP) end("the radio has closed");
        if (!(ready[1].revents & POLLIN)) continue;
        held += read_some(port, inbound + held, sizeof inbound - held);
        size_t begin = 0, count;
        while (begin < held && (count = packet_octets(inbound + begin, held - begin)) > 0 && begin + count <= held) {
            deliver(vhci, inbound + begin, count);
            begin += count;
        }
        held -= begin;
        memmove(inbound, inbound + begin, held);
    }
    fail("poll");
}

static int connect_to(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        fail(path);
    }
    strcpy(address.sun_path, path);
    int socket_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket_ < 0 || connect(socket_, (struct sockaddr *)&address, sizeof address) != 0) fail(path);
    return socket_;
}

static void bridge_octets(int port, const char *path) {
    static uint8_t octets[65536];
    struct pollfd first = {.fd = port, .events = POLLIN};
    // A port that nobody has opened outside reads as closed, and nothing tells when somebody does.
    while (poll(&first, 1, -1) < 0 || !(first.revents & POLLIN) || (first.revents & POLLHUP)) usleep(50 * 1000);
    int inside = connect_to(path);
    struct pollfd ready[] = {{.fd = port, .events = POLLIN}, {.fd = inside, .events = POLLIN}};
    while (poll(ready, 2, -1) >= 0 || errno == EINTR) {
        if (ready[0].revents & POLLIN) write_all(inside, octets, read_some(port, octets, sizeof octets));
        if (ready[1].revents & POLLIN) write_all(port, octets, read_some(inside, octets, sizeof octets));
        if ((ready[0].revents & POLLHUP) && !(ready[0].revents & POLLIN)) end("nobody is there outside");
        if ((ready[1].revents & POLLHUP) && !(ready[1].revents & POLLIN)) end("the socket has closed");
    }
    fail("poll");
}

int main(int count, char **words) {
    if (count == 3 && strcmp(words[1], "packets") == 0) bridge_packets(open_device(words[2]));
    if (count == 4 && strcmp(words[1], "octets") == 0) bridge_octets(open_device(words[2]), words[3]);
    fprintf(stderr, "guest_bridge: packets PORT, or octets PORT SOCKET\n");
    return 2;
}
