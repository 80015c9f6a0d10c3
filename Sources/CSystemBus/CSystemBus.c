#include "CSystemBus.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-login.h>

#define FUNCTIONS(each)                                                                                                \
    each(sd_bus_new) each(sd_bus_set_address) each(sd_bus_set_bus_client) each(sd_bus_start) each(sd_bus_open_system)      \
    each(sd_bus_close_unref) each(sd_bus_get_fd) each(sd_bus_get_events) each(sd_bus_get_timeout) each(sd_bus_process)     \
    each(sd_bus_send) each(sd_bus_message_new_method_call) each(sd_bus_message_new_method_return)                          \
    each(sd_bus_message_new_method_error) each(sd_bus_message_append_basic) each(sd_bus_message_append_array)              \
    each(sd_bus_message_open_container) each(sd_bus_message_close_container) each(sd_bus_message_ref) each(sd_bus_message_unref)                    \
    each(sd_bus_message_get_type) each(sd_bus_message_get_sender) each(sd_bus_message_get_path)                            \
    each(sd_bus_message_get_interface) each(sd_bus_message_get_member) each(sd_bus_message_get_error)                      \
    each(sd_bus_message_get_reply_cookie) each(sd_bus_message_get_expect_reply) each(sd_bus_message_peek_type)             \
    each(sd_bus_message_read_basic) each(sd_bus_message_read_array) each(sd_bus_message_enter_container)                   \
    each(sd_bus_message_exit_container) each(sd_uid_get_seats)

static struct {
#define FIELD(name) __typeof__(&name) name;
    FUNCTIONS(FIELD)
} library;

static bool isWhole;
static pthread_once_t once = PTHREAD_ONCE_INIT;

// It stays loaded until the process ends.
static void load(void) {
    void *handle = dlopen("libsystemd.so.0", RTLD_NOW | RTLD_LOCAL);
    isWhole = handle != NULL;
#define FIND(name) \
    if (handle) library.name = (__typeof__(&name))dlsym(handle, #name); \
    isWhole = isWhole && library.name;
    FUNCTIONS(FIND)
}

int latch_bus_open(const char *address, sd_bus **bus) {
    *bus = NULL;
    pthread_once(&once, load);
    if (!isWhole) return -ENOSYS;
    if (!address) return library.sd_bus_open_system(bus);
    int result = library.sd_bus_new(bus);
    if (result >= 0) result = library.sd_bus_set_address(*bus, address);
    if (result >= 0) result = library.sd_bus_set_bus_client(*bus, 1);
    if (result >= 0) result = library.sd_bus_start(*bus);
    if (result < 0) {
        library.sd_bus_close_unref(*bus);
        *bus = NULL;
    }
    return result;
}

void latch_bus_close(sd_bus *bus) { library.sd_bus_close_unref(bus); }
int latch_bus_descriptor(sd_bus *bus) { return library.sd_bus_get_fd(bus); }
int latch_bus_events(sd_bus *bus) { return library.sd_bus_get_events(bus); }
int latch_bus_timeout(sd_bus *bus, uint64_t *microseconds) { return library.sd_bus_get_timeout(bus, microseconds); }
int latch_bus_process(sd_bus *bus, sd_bus_message **message) { return library.sd_bus_process(bus, message); }
sd_bus_message *latch_bus_retain(sd_bus_message *message) { return library.sd_bus_message_ref(message); }
void latch_bus_release(sd_bus_message *message) { library.sd_bus_message_unref(message); }

int latch_bus_make_call(
    sd_bus *bus, sd_bus_message **message, const char *destination, const char *path, const char *interface, const char *member) {
    return library.sd_bus_message_new_method_call(bus, message, destination, path, interface, member);
}
int latch_bus_make_answer(sd_bus_message *call, sd_bus_message **message) {
    return library.sd_bus_message_new_method_return(call, message);
}
int latch_bus_make_error(sd_bus_message *call, sd_bus_message **message, const char *name, const char *text) {
    sd_bus_error error = SD_BUS_ERROR_MAKE_CONST(name, text);
    return library.sd_bus_message_new_method_error(call, message, &error);
}
int latch_bus_append(sd_bus_message *message, char type, const void *value) {
    return library.sd_bus_message_append_basic(message, type, value);
}
int latch_bus_append_octets(sd_bus_message *message, const void *octets, size_t count) {
    return library.sd_bus_message_append_array(message, 'y', octets, count);
}
int latch_bus_open_container(sd_bus_message *message, char type, const char *contents) {
    return library.sd_bus_message_open_container(message, type, contents);
}
int latch_bus_close_container(sd_bus_message *message) { return library.sd_bus_message_close_container(message); }
int latch_bus_send(sd_bus *bus, sd_bus_message *message, uint64_t *cookie) {
    return library.sd_bus_send(bus, message, cookie);
}

int latch_bus_kind(sd_bus_message *message) {
    uint8_t type = 0;
    int result = library.sd_bus_message_get_type(message, &type);
    return result < 0 ? result : type;
}
const char *latch_bus_sender(sd_bus_message *message) { return library.sd_bus_message_get_sender(message); }
const char *latch_bus_path(sd_bus_message *message) { return library.sd_bus_message_get_path(message); }
const char *latch_bus_interface(sd_bus_message *message) { return library.sd_bus_message_get_interface(message); }
const char *latch_bus_member(sd_bus_message *message) { return library.sd_bus_message_get_member(message); }
const char *latch_bus_error_name(sd_bus_message *message) {
    const sd_bus_error *error = library.sd_bus_message_get_error(message);
    return error ? error->name : NULL;
}
const char *latch_bus_error_text(sd_bus_message *message) {
    const sd_bus_error *error = library.sd_bus_message_get_error(message);
    return error ? error->message : NULL;
}
uint64_t latch_bus_answered_cookie(sd_bus_message *message) {
    uint64_t cookie = 0;
    return library.sd_bus_message_get_reply_cookie(message, &cookie) < 0 ? 0 : cookie;
}
bool latch_bus_wants_answer(sd_bus_message *message) { return library.sd_bus_message_get_expect_reply(message) > 0; }
int latch_bus_peek(sd_bus_message *message, char *type, const char **contents) {
    return library.sd_bus_message_peek_type(message, type, contents);
}
int latch_bus_read(sd_bus_message *message, char type, void *value) {
    return library.sd_bus_message_read_basic(message, type, value);
}
int latch_bus_read_octets(sd_bus_message *message, const void **octets, size_t *count) {
    return library.sd_bus_message_read_array(message, 'y', octets, count);
}
int latch_bus_enter(sd_bus_message *message, char type, const char *contents) {
    return library.sd_bus_message_enter_container(message, type, contents);
}
int latch_bus_leave(sd_bus_message *message) { return library.sd_bus_message_exit_container(message); }

int latch_login_is_at_seat(uint32_t user) {
    pthread_once(&once, load);
    if (!isWhole) return -ENOSYS;
    int seats = library.sd_uid_get_seats(user, 1, NULL);
    return seats > 0 ? 1 : seats;
}
