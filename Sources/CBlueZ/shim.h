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

static inline int latch_hci_bind(int fd, uint16_t device, uint16_t channel) {
    struct sockaddr_hci address = {.hci_family = AF_BLUETOOTH, .hci_dev = device, .hci_channel = channel};
    return bind(fd, (struct sockaddr *)&address, sizeof address);
}

// Takes the controller from the kernel's own stack: nobody else speaks to it while the socket is open.
static inline int latch_hci_bind_user_channel(int fd, uint16_t device) {
    return latch_hci_bind(fd, device, HCI_CHANNEL_USER);
}

// Speaks to the kernel's Bluetooth management, of every adapter.
static inline int latch_hci_bind_control_channel(int fd) {
    return latch_hci_bind(fd, HCI_DEV_NONE, HCI_CHANNEL_CONTROL);
}

// Hears the answers to one command of an adapter that the kernel keeps, and may send what the kernel lets any user send. 0, or -1 with
// errno.
static inline int latch_hci_bind_raw(int fd, uint16_t device, uint16_t opcode) {
    struct hci_filter filter;
    hci_filter_clear(&filter);
    hci_filter_set_ptype(HCI_EVENT_PKT, &filter);
    hci_filter_set_event(EVT_CMD_COMPLETE, &filter);
    hci_filter_set_event(EVT_CMD_STATUS, &filter);
    hci_filter_set_opcode(opcode, &filter);
    if (setsockopt(fd, SOL_HCI, HCI_FILTER, &filter, sizeof filter) < 0) return -1;
    return latch_hci_bind(fd, device, HCI_CHANNEL_RAW);
}

// The handle of the kernel's LE link with the peer of this address, first octet in the most significant place; -1 with errno. The socket
// is bound.
static inline int latch_hci_link_handle(int fd, uint64_t bits) {
    enum { le_link = 0x80 };
    struct {
        struct hci_conn_info_req request;
        struct hci_conn_info link;
    } asked;
    memset(&asked, 0, sizeof asked);
    for (int octet = 0; octet < 6; octet++) asked.request.bdaddr.b[octet] = (uint8_t)(bits >> (8 * octet));
    asked.request.type = le_link;
    if (ioctl(fd, HCIGETCONNINFO, &asked) < 0) return -1;
    return asked.link.handle;
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

// Whether a link of the adapter's is being made, for whomever: 0 or 1; -1 with errno. More links than there is room for count as that.
static inline int latch_hci_is_connecting(int fd, uint16_t device) {
    // Of the kernel's states of a connection (BT_CONNECT).
    enum { connecting = 5, links_maximum = 64 };
    struct {
        struct hci_conn_list_req request;
        struct hci_conn_info links[links_maximum];
    } list;
    memset(&list, 0, sizeof list);
    list.request.dev_id = device;
    list.request.conn_num = links_maximum;
    if (ioctl(fd, HCIGETCONNLIST, &list) < 0) return -1;
    if (list.request.conn_num >= links_maximum) return 1;
    for (int number = 0; number < list.request.conn_num; number++)
        if (list.links[number].state == connecting) return 1;
    return 0;
}

// What `hciconfig hciN down` does. The socket is not bound yet.
static inline int latch_hci_down(int fd, uint16_t device) { return ioctl(fd, HCIDEVDOWN, device); }
