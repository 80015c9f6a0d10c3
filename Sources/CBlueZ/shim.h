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
