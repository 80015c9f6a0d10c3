// The HCI user channel of AF_BLUETOOTH. <bluetooth/hci.h> needs the two headers before it and leaves ioctl numbers
// and socket constants as macros that Swift cannot import. Of BlueZ only its headers are used: the kernel is asked here, so that a
// launch loads no libbluetooth.
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

// Speaks to the kernel's Bluetooth management, of every adapter.
static inline int latch_hci_bind_control_channel(int fd) {
    struct sockaddr_hci address;
    memset(&address, 0, sizeof address);
    address.hci_family = AF_BLUETOOTH;
    address.hci_dev = HCI_DEV_NONE;
    address.hci_channel = HCI_CHANNEL_CONTROL;
    return bind(fd, (struct sockaddr *)&address, sizeof address);
}

// 1 when the adapter is up, 0 when it is not, -1 with errno.
static inline int latch_hci_is_up(int fd, uint16_t device) {
    struct hci_dev_info information = {.dev_id = device};
    if (ioctl(fd, HCIGETDEVINFO, &information) < 0) return -1;
    return hci_test_bit(HCI_UP, &information.flags) != 0;
}

// The adapter's public address, first octet in the most significant place; -1 with errno.
static inline int latch_hci_address(int fd, uint16_t device, uint64_t *bits) {
    struct hci_dev_info information = {.dev_id = device};
    if (ioctl(fd, HCIGETDEVINFO, &information) < 0) return -1;
    *bits = 0;
    for (int octet = 5; octet >= 0; octet--) *bits = *bits << 8 | information.bdaddr.b[octet];
    return 0;
}

// Links that the kernel keeps on the adapter, whoever made them: 0 or 1 for any; -1 with errno.
static inline int latch_hci_has_links(int fd, uint16_t device) {
    struct {
        struct hci_conn_list_req request;
        struct hci_conn_info first;
    } list;
    memset(&list, 0, sizeof list);
    list.request.dev_id = device;
    list.request.conn_num = 1;
    if (ioctl(fd, HCIGETCONNLIST, &list) < 0) return -1;
    return list.request.conn_num > 0;
}

// What `hciconfig hciN down` does. The socket is not bound yet.
static inline int latch_hci_down(int fd, uint16_t device) { return ioctl(fd, HCIDEVDOWN, device); }
