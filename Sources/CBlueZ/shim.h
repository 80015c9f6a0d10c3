// The HCI user channel of AF_BLUETOOTH. <bluetooth/hci.h> needs the two headers before it and leaves ioctl numbers
// and socket constants as macros that Swift cannot import.
#pragma once
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <bluetooth/bluetooth.h>
#include <bluetooth/hci.h>
#include <bluetooth/hci_lib.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

static inline int latch_hci_socket(void) {
    return socket(AF_BLUETOOTH, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, BTPROTO_HCI);
}

// Takes the controller from the kernel's own stack: nobody else speaks to it while the socket is open.
static inline int latch_hci_bind_user_channel(int fd, uint16_t device) {
    struct sockaddr_hci address;
    memset(&address, 0, sizeof address);
    address.hci_family = AF_BLUETOOTH;
    address.hci_dev = device;
    address.hci_channel = HCI_CHANNEL_USER;
    return bind(fd, (struct sockaddr *)&address, sizeof address);
}
