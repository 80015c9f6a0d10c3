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

// Requests lines, each with its flags; outputs begin with their bit of `values`. The descriptor of the request, or -1 with errno.
static inline int latch_gpio_request(
    int chip, const uint32_t *lines, const uint64_t *flags, uint32_t count, uint64_t values, const char *consumer) {
    struct gpio_v2_line_request request;
    memset(&request, 0, sizeof request);
    if (count == 0 || count >= GPIO_V2_LINE_NUM_ATTRS_MAX) {
        errno = EINVAL;
        return -1;
    }
    strncpy(request.consumer, consumer, sizeof request.consumer - 1);
    request.num_lines = count;
    request.config.flags = flags[0];
    for (uint32_t index = 0; index < count; index++) {
        struct gpio_v2_line_config_attribute *attribute = &request.config.attrs[index];
        request.offsets[index] = lines[index];
        attribute->mask = 1ull << index;
        attribute->attr.id = GPIO_V2_LINE_ATTR_ID_FLAGS;
        attribute->attr.flags = flags[index];
    }
    request.config.attrs[count].mask = (1ull << count) - 1;
    request.config.attrs[count].attr.id = GPIO_V2_LINE_ATTR_ID_OUTPUT_VALUES;
    request.config.attrs[count].attr.values = values;
    request.config.num_attrs = flags[0] & GPIO_V2_LINE_FLAG_OUTPUT ? count + 1 : count;
    return ioctl(chip, GPIO_V2_GET_LINE_IOCTL, &request) != 0 ? -1 : request.fd;
}

// The levels of a request's lines: 1 is active, whatever that is at the metal.
static inline int latch_gpio_get(int request, uint32_t count, uint64_t *bits) {
    struct gpio_v2_line_values values = {.mask = (1ull << count) - 1};
    if (ioctl(request, GPIO_V2_LINE_GET_VALUES_IOCTL, &values) != 0) return -1;
    *bits = values.bits & values.mask;
    return 0;
}

static inline int latch_gpio_set(int request, uint32_t count, uint64_t bits) {
    struct gpio_v2_line_values values = {.mask = (1ull << count) - 1, .bits = bits};
    return ioctl(request, GPIO_V2_LINE_SET_VALUES_IOCTL, &values);
}

// Takes edges that have been seen, 16 at most, and says at which lines. How many there were, or -1 with errno.
static inline int latch_gpio_edges_seen(int request, uint32_t seen[16]) {
    struct gpio_v2_line_event events[16];
    ssize_t octets = read(request, events, sizeof events);
    if (octets < 0) return -1;
    int count = (int)((size_t)octets / sizeof events[0]);
    for (int index = 0; index < count; index++) seen[index] = events[index].offset;
    return count;
}
