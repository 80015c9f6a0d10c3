// Tells the thread sanitizer of Swift's `Mutex`. Without contention a mutex is an atomic in our own code, which is
// instrumented; with contention it is a futex in Swift's library, which is not, and what two threads did under one mutex would
// be reported as a race. scripts/sanitize links this into every program, where it comes before the library's own functions.
//
// The mutex itself is the address of its atomic: what one thread releases there without contention another acquires here.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

void __tsan_acquire(void *address);
void __tsan_release(void *address);

#define METHOD __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *self
// Synchronization._MutexHandle, whose methods these are; they are part of the library's stable interface.
#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK_SLOW "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

// A static library has no next function: that is a build that this is not for.
static void *library(const char *name) {
    void *function = dlsym(RTLD_NEXT, name);
    if (!function) abort();
    return function;
}

METHOD void latch_lock_slow(uint32_t thread, SELF) __asm__(LOCK_SLOW);
METHOD void latch_lock_slow(uint32_t thread, SELF) {
    ((METHOD void (*)(uint32_t, SELF))library(LOCK_SLOW))(thread, self);
    __tsan_acquire(self);
}

METHOD _Bool latch_try_lock_slow(SELF) __asm__(TRY_LOCK_SLOW);
METHOD _Bool latch_try_lock_slow(SELF) {
    _Bool locked = ((METHOD _Bool (*)(SELF))library(TRY_LOCK_SLOW))(self);
    if (locked) __tsan_acquire(self);
    return locked;
}

METHOD void latch_unlock_slow(SELF) __asm__(UNLOCK_SLOW);
METHOD void latch_unlock_slow(SELF) {
    __tsan_release(self);
    ((METHOD void (*)(SELF))library(UNLOCK_SLOW))(self);
}
