// cp2112 CONTROL: the hardware of a Silicon Labs CP2112, a USB chip with eight GPIO lines, made with /dev/uhid for the kernel's own driver
// hid-cp2112. It is the judge of the drill: it plays what is soldered to the lines, and writes down what each of them does.
//
// Standard output has one line of text for each thing that happens, CLOCK_BOOTTIME in nanoseconds first:
//
//     NS plugged | NS unplugged
//     NS line N drives V       line N is an output, and its level is V from now on
//     NS line N floats         it drives nothing
//     NS line N sees V         the wire at line N has level V from now on (by command)
//
// CONTROL is made, a FIFO. Its commands, a line of text each: `wire N V`, `unplug`, `plug`, `broken 1` (every report fails with EIO) and
// `broken 0`, `end`. The reports are those of AN495, "CP2112 Interface Specification", chapter 5.

#include <errno.h>
#include <fcntl.h>
#include <linux/input.h>
#include <linux/uhid.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LINE_COUNT = 8 };

enum report {
    REPORT_GPIO_CONFIGURATION = 0x02,
    REPORT_GET_GPIO = 0x03,
    REPORT_SET_GPIO = 0x04,
    REPORT_VERSION = 0x05,
    REPORT_SMBUS_CONFIGURATION = 0x06,
    REPORT_LOCK = 0x20,
};

// One collection of a vendor's own; each report is a field of so many octets.
#define REPORT(number, octets) 0x85, number, 0x95, octets, 0x09, 0x01, 0xB1, 0x02
static const uint8_t report_descriptor[] = {
    // Usage page and usage of the vendor's, collection, octets from 0 to 255.
    0x06, 0x00, 0xFF, 0x09, 0x01, 0xA1, 0x01, 0x15, 0x00, 0x26, 0xFF, 0x00, 0x75, 0x08,
    REPORT(REPORT_GPIO_CONFIGURATION, 4), REPORT(REPORT_GET_GPIO, 1), REPORT(REPORT_SET_GPIO, 2),
    REPORT(REPORT_VERSION, 2), REPORT(REPORT_SMBUS_CONFIGURATION, 13), REPORT(REPORT_LOCK, 1),
    // The collection's end.
    0xC0,
};

// What the chip is made of. Without power it forgets all but the wires.
static struct {
    int uhid;
    bool is_broken;
    uint8_t outputs; // a bit for each line
    uint8_t levels;  // what outputs are set to
    uint8_t wires;   // what inputs see
    uint8_t gpio_configuration[5];
    uint8_t smbus_configuration[14];
} chip = {.uhid = -1, .wires = 0xFF};

static void end_with(const char *what) {
    fprintf(stderr, "cp2112: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void write_down(const char *format, int line, int level) {
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    printf("%lld ", now.tv_sec * 1000000000LL + now.tv_nsec);
    printf(format, line, level);
    putchar('\n');
}

static void tell_kernel(const struct uhid_event *event) {
    if (write(chip.uhid, event, sizeof *event) != (ssize_t)sizeof *event) end_with("/dev/uhid");
}

static void plug(void) {
    struct uhid_event event = {.type = UHID_CREATE2};
    struct uhid_create2_req *device = &event.u.create2;
    chip.uhid = open("/dev/uhid", O_RDWR | O_CLOEXEC);
    if (chip.uhid < 0) end_with("/dev/uhid");
    chip.outputs = chip.levels = 0;
    memset(chip.gpio_configuration, 0, sizeof chip.gpio_configuration);
    memset(chip.smbus_configuration, 0, sizeof chip.smbus_configuration);
    chip.gpio_configuration[0] = REPORT_GPIO_CONFIGURATION;
    chip.smbus_configuration[0] = REPORT_SMBUS_CONFIGURATION;
    snprintf((char *)device->name, sizeof device->name, "CP2112 of the drill");
    device->rd_size = sizeof report_descriptor;
    memcpy(device->rd_data, report_descriptor, sizeof report_descriptor);
    device->bus = BUS_USB;
    device->vendor = 0x10C4;
    device->product = 0xEA90;
    write_down("plugged", 0, 0);
    tell_kernel(&event);
}

static void unplug(void) {
    write_down("unplugged", 0, 0);
    close(chip.uhid);
    chip.uhid = -1;
}

// The lines drive this from now on.
static void drive(uint8_t outputs, uint8_t levels) {
    for (int line = 0; line < LINE_COUNT; line++) {
        uint8_t bit = (uint8_t)(1u << line);
        bool was = chip.outputs & bit, is = outputs & bit;
        if (is && (!was || (chip.levels ^ levels) & bit)) write_down("line %d drives %d", line, (levels & bit) != 0);
        if (was && !is) write_down("line %d floats", line, 0);
    }
    chip.outputs = outputs;
    chip.levels = levels;
}

// Copies a report of the chip's into the answer.
static void fill(struct uhid_get_report_reply_req *answer, const uint8_t *octets, size_t count) {
    answer->size = (uint16_t)count;
    memcpy(answer->data, octets, count);
}

static void answer_get(const struct uhid_get_report_req *asked) {
    struct uhid_event event = {.type = UHID_GET_REPORT_REPLY};
    struct uhid_get_report_reply_req *answer = &event.u.get_report_reply;
    const uint8_t seen = (uint8_t)((chip.levels & chip.outputs) | (chip.wires & ~chip.outputs));
    const uint8_t gpio[] = {REPORT_GET_GPIO, seen}, version[] = {REPORT_VERSION, 0x0C, 0x02}, lock[] = {REPORT_LOCK, 0};
    answer->id = asked->id;
    switch (chip.is_broken ? 0 : asked->rnum) {
    case REPORT_GPIO_CONFIGURATION: fill(answer, chip.gpio_configuration, sizeof chip.gpio_configuration); break;
    case REPORT_GET_GPIO: fill(answer, gpio, sizeof gpio); break;
    case REPORT_VERSION: fill(answer, version, sizeof version); break;
    case REPORT_SMBUS_CONFIGURATION: fill(answer, chip.smbus_configuration, sizeof chip.smbus_configuration); break;
    case REPORT_LOCK: fill(answer, lock, sizeof lock); break;
    default: answer->err = EIO;
    }
    tell_kernel(&event);
}

static void answer_set(const struct uhid_set_report_req *asked) {
    struct uhid_event event = {.type = UHID_SET_REPORT_REPLY};
    const uint8_t *octets = asked->data;
    event.u.set_report_reply.id = asked->id;
    switch (chip.is_broken ? 0 : asked->rnum) {
    case REPORT_GPIO_CONFIGURATION:
        memcpy(chip.gpio_configuration, octets, sizeof chip.gpio_configuration);
        drive(octets[1], chip.levels);
        break;
    // Levels, and which lines they are for.
    case REPORT_SET_GPIO:
        drive(chip.outputs, (uint8_t)((chip.levels & ~octets[2]) | (octets[1] & octets[2])));
        break;
    case REPORT_SMBUS_CONFIGURATION: memcpy(chip.smbus_configuration, octets, sizeof chip.smbus_configuration); break;
    default: event.u.set_report_reply.err = EIO;
    }
    tell_kernel(&event);
}

static void serve_kernel(void) {
    struct uhid_event event;
    if (read(chip.uhid, &event, sizeof event) <= 0) end_with("/dev/uhid");
    if (event.type == UHID_GET_REPORT) answer_get(&event.u.get_report);
    if (event.type == UHID_SET_REPORT) answer_set(&event.u.set_report);
}

static void obey(const char *command) {
    int line, value;
    if (sscanf(command, "wire %d %d", &line, &value) == 2 && line >= 0 && line < LINE_COUNT) {
        uint8_t bit = (uint8_t)(1u << line);
        chip.wires = (uint8_t)(value ? chip.wires | bit : chip.wires & ~bit);
        write_down("line %d sees %d", line, value != 0);
    } else if (strcmp(command, "unplug\n") == 0 && chip.uhid >= 0) {
        unplug();
    } else if (strcmp(command, "plug\n") == 0 && chip.uhid < 0) {
        plug();
    } else if (sscanf(command, "broken %d", &value) == 1) {
        chip.is_broken = value != 0;
    } else if (strcmp(command, "end\n") == 0) {
        exit(0);
    } else {
        fprintf(stderr, "cp2112: no such command: %s", command);
    }
}

int main(int count, char **arguments) {
    if (count != 2) {
        fprintf(stderr, "usage: cp2112 CONTROL\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (mkfifo(arguments[1], 0600) != 0 && errno != EEXIST) end_with(arguments[1]);
    // For writing as well: it does not end with the first who writes.
    FILE *control = fopen(arguments[1], "r+");
    if (control == NULL) end_with(arguments[1]);
    setvbuf(control, NULL, _IONBF, 0);
    plug();
    for (;;) {
        struct pollfd waited[] = {
            {.fd = chip.uhid, .events = POLLIN}, {.fd = fileno(control), .events = POLLIN}};
        if (poll(waited, 2, -1) < 0) end_with("poll");
        if (waited[0].revents & POLLIN) serve_kernel();
        char command[64];
        if (waited[1].revents & POLLIN && fgets(command, sizeof command, control) != NULL) obey(command);
    }
}
