// sd-bus of libsystemd, loaded when the first bus is opened: who needs none does not wait for it. Functions return what sd-bus's do: a
// negative error number, and -ENOSYS where there is no libsystemd.so.0 that has them all. Not to be used by two threads at once.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sd_bus sd_bus;
typedef struct sd_bus_message sd_bus_message;

// A connection that is on its way; what is sent waits. `address`: as D-Bus writes it; NULL for the system's bus.
int latch_bus_open(const char *address, sd_bus **bus);
// What was sent and waits is dropped.
void latch_bus_close(sd_bus *bus);
int latch_bus_descriptor(sd_bus *bus);
// POLLIN and POLLOUT, as far as they are waited for.
int latch_bus_events(sd_bus *bus);
// When latch_bus_process() is due without any: microseconds of CLOCK_MONOTONIC, or UINT64_MAX.
int latch_bus_timeout(sd_bus *bus, uint64_t *microseconds);
// One step. Above 0 there may be more to do. `message`: one that has come, to be released, or NULL.
int latch_bus_process(sd_bus *bus, sd_bus_message **message);
sd_bus_message *latch_bus_retain(sd_bus_message *message);
void latch_bus_release(sd_bus_message *message);

// Messages to send. Each is to be released.
int latch_bus_make_call(
    sd_bus *bus, sd_bus_message **message, const char *destination, const char *path, const char *interface, const char *member);
int latch_bus_make_answer(sd_bus_message *call, sd_bus_message **message);
int latch_bus_make_error(sd_bus_message *call, sd_bus_message **message, const char *name, const char *text);
int latch_bus_append(sd_bus_message *message, char type, const void *value);
int latch_bus_append_octets(sd_bus_message *message, const void *octets, size_t count);
int latch_bus_open_container(sd_bus_message *message, char type, const char *contents);
int latch_bus_close_container(sd_bus_message *message);
int latch_bus_send(sd_bus *bus, sd_bus_message *message, uint64_t *cookie);

// Whether a user's session is the active one of a seat of the machine, as logind has it: 1 or 0, or an error as above. Every session
// without a seat, as one over a network, counts as active too, and is none of these.
int latch_login_is_at_seat(uint32_t user);

// What a message says. Its strings live as long as it does; NULL for what it has not.
enum latch_bus_kind { LATCH_BUS_CALL = 1, LATCH_BUS_ANSWER = 2, LATCH_BUS_ERROR = 3, LATCH_BUS_SIGNAL = 4 };
int latch_bus_kind(sd_bus_message *message);
const char *latch_bus_sender(sd_bus_message *message);
const char *latch_bus_path(sd_bus_message *message);
const char *latch_bus_interface(sd_bus_message *message);
const char *latch_bus_member(sd_bus_message *message);
const char *latch_bus_error_name(sd_bus_message *message);
const char *latch_bus_error_text(sd_bus_message *message);
// Which message it answers; 0 for none.
uint64_t latch_bus_answered_cookie(sd_bus_message *message);
bool latch_bus_wants_answer(sd_bus_message *message);
// 0 at the end of a container, or of the message.
int latch_bus_peek(sd_bus_message *message, char *type, const char **contents);
int latch_bus_read(sd_bus_message *message, char type, void *value);
int latch_bus_read_octets(sd_bus_message *message, const void **octets, size_t *count);
int latch_bus_enter(sd_bus_message *message, char type, const char *contents);
int latch_bus_leave(sd_bus_message *message);
