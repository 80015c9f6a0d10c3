// The kernel's GPIO character device, uAPI v2 (linux/gpio.h, since Linux 5.10). Its requests have arrays and unions that Swift sees as
// tuples: they are filled here.
#pragma once
#include <errno.h>
#include <linux/gpio.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const uint64_t latch_gpio_active_low = GPIO_V2_LINE_FLAG_ACTIVE_LOW;
static const uint64_t latch_gpio_input = GPIO_V2_LINE_FLAG_INPUT;
static const uint64_t latch_gpio_output = GPIO_V2_LINE_FLAG_OUTPUT;
static const uint64_t latch_gpio_edges = GPIO_V2_LINE_FLAG_EDGE_RISING | GPIO_V2_LINE_FLAG_EDGE_FALLING;
static const uint64_t latch_gpio_pull_up = GPIO_V2_LINE_FLAG_BIAS_PULL_UP;
static const uint64_t latch_gpio_pull_down = GPIO_V2_LINE_FLAG_BIAS_PULL_DOWN;

enum { latch_gpio_name_octets = GPIO_MAX_NAME_SIZE };

// The chip's label, ended by a zero, and how many lines it has; -1 with errno where the descriptor is no chip's.
static inline int latch_gpio_chip(int chip, char label[GPIO_MAX_NAME_SIZE + 1], uint32_t *lines) {
    struct gpiochip_info about;
    memset(&about, 0, sizeof about);
    if (ioctl(chip, GPIO_GET_CHIPINFO_IOCTL, &about) != 0) return -1;
    memcpy(label, about.label, GPIO_MAX_NAME_SIZE);
    label[GPIO_MAX_NAME_SIZE] = 0;
    *lines = about.lines;
    return 0;
}

// The name of a line, empty where it has none.
static inline int latch_gpio_line_name(int chip, uint32_t line, char name[GPIO_MAX_NAME_SIZE + 1]) {
    struct gpio_v2_line_info about;
    memset(&about, 0, sizeof about);
    about.offset = line;
    if (ioctl(chip, GPIO_V2_GET_LINEINFO_IOCTL, &about) != 0) return -1;
    memcpy(name, about.name, GPIO_MAX_NAME_SIZE);
    name[GPIO_MAX_NAME_SIZE] = 0;
    return 0;
}

// Requests one line; an output begins with `value`. The descriptor of the request, or -1 with errno. One request has one line: what drivers make of
// several with attributes of their own differs.
static inline int latch_gpio_request(int chip, uint32_t line, uint64_t flags, int value, const char *consumer) {
    struct gpio_v2_line_request request;
    memset(&request, 0, sizeof request);
    strncpy(request.consumer, consumer, sizeof request.consumer - 1);
    request.offsets[0] = line;
    request.num_lines = 1;
    request.config.flags = flags;
    if (flags & GPIO_V2_LINE_FLAG_OUTPUT) {
        request.config.num_attrs = 1;
        request.config.attrs[0].mask = 1;
        request.config.attrs[0].attr.id = GPIO_V2_LINE_ATTR_ID_OUTPUT_VALUES;
        request.config.attrs[0].attr.values = value != 0;
    }
    return ioctl(chip, GPIO_V2_GET_LINE_IOCTL, &request) != 0 ? -1 : request.fd;
}

// Whether a request's line is active, whatever level that is at the metal: 1 or 0, or -1 with errno.
static inline int latch_gpio_get(int request) {
    struct gpio_v2_line_values values = {.mask = 1};
    if (ioctl(request, GPIO_V2_LINE_GET_VALUES_IOCTL, &values) != 0) return -1;
    return values.bits & 1;
}

static inline int latch_gpio_set(int request, int is_active) {
    struct gpio_v2_line_values values = {.mask = 1, .bits = is_active != 0};
    return ioctl(request, GPIO_V2_LINE_SET_VALUES_IOCTL, &values);
}

// Takes edges that have been seen, 16 at most. How many there were, or -1 with errno.
static inline int latch_gpio_take_edges(int request) {
    struct gpio_v2_line_event events[16];
    ssize_t octets = read(request, events, sizeof events);
    return octets < 0 ? -1 : (int)((size_t)octets / sizeof events[0]);
}
