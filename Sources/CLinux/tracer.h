// A tracer of system calls: a process of its own that starts a program, counts the calls of all its threads, and kills it at
// one of them. A tracee answers to the one thread that attached, so the tracer is that thread and nothing else, and whoever
// started it is free. All of it is C, since only async-signal-safe calls may follow a fork of a process with threads.
#pragma once
#include "shim.h"
#include <sys/ptrace.h>
#include <sys/wait.h>

// More calls than any life of a daemon that is worth tracing.
#define LATCH_TRACE_CAPACITY 65536

// Shared by the tracer, which writes it, and whoever started it.
struct latch_trace {
    uint64_t count;                         // stops that counted, so far
    int32_t process;                        // the program's, from its exec on
    int32_t error;                          // errno of what kept the tracer from its work
    uint16_t calls[];                       // the number of each call that counted
};

static inline size_t latch_trace_octets(void) {
    return sizeof(struct latch_trace) + LATCH_TRACE_CAPACITY * sizeof(uint16_t);
}

static inline struct latch_trace *latch_trace_make(void) {
    void *memory = mmap(0, latch_trace_octets(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? 0 : memory;
}

static inline void latch_trace_free(struct latch_trace *trace) { munmap(trace, latch_trace_octets()); }

static inline uint64_t latch_trace_count(struct latch_trace *trace) {
    return __atomic_load_n(&trace->count, __ATOMIC_ACQUIRE);
}

// The number of the call that was counted as the `index`th, from 0; -1 without one.
static inline int latch_trace_call(struct latch_trace *trace, uint64_t index) {
    return index < latch_trace_count(trace) && index < LATCH_TRACE_CAPACITY ? trace->calls[index] : -1;
}

// Which call each thread is in, since the stop at a call's exit does not tell.
struct latch_trace_thread {
    pid_t thread;
    int call;
};

static inline struct latch_trace_thread *latch_trace_find(struct latch_trace_thread *threads, int capacity, pid_t thread) {
    struct latch_trace_thread *vacant = 0;
    for (int index = 0; index < capacity; index++) {
        if (threads[index].thread == thread) return &threads[index];
        if (threads[index].thread == 0 && !vacant) vacant = &threads[index];
    }
    if (vacant) *vacant = (struct latch_trace_thread){thread, -1};
    return vacant;
}

// Whether this stop of a thread at a call counts: entries do, or exits of calls whose entry was seen.
static inline int latch_trace_counts(struct latch_trace_thread *state, pid_t thread, int at_exit) {
    struct __ptrace_syscall_info info;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info) <= 0 || !state) return 0;
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
        state->call = (int)info.entry.nr;
        return !at_exit;
    }
    return at_exit && info.op == PTRACE_SYSCALL_INFO_EXIT && state->call >= 0;
}

// What the tracer waits for. They are blocked and taken, not handled: after the fork of a process with threads a sanitizer puts off
// handlers, and the tracer waits most of the time.
static inline sigset_t latch_trace_signals(void) {
    sigset_t awaited;
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGCHLD);
    sigaddset(&awaited, SIGTERM);
    sigaddset(&awaited, SIGUSR1);
    return awaited;
}

// SIGTERM goes on to the program; SIGUSR1 stands for SIGKILL, which cannot be caught and handed on.
static inline void latch_trace_await(pid_t program) {
    sigset_t awaited = latch_trace_signals();
    int signal = sigwaitinfo(&awaited, 0);
    if (signal == SIGTERM) kill(program, SIGTERM);
    if (signal == SIGUSR1) kill(program, SIGKILL);
}

// Serves the program until its end, and returns its status as waitpid gave it.
static inline int latch_trace_serve(struct latch_trace *trace, pid_t program, uint64_t kill_at, int at_exit) {
    enum { capacity = 64 };
    struct latch_trace_thread threads[capacity] = {{0, 0}};
    uint64_t count = 0;
    for (;;) {
        int status = 0;
        pid_t thread = waitpid(-1, &status, __WALL | WNOHANG);
        if (thread == 0) {
            latch_trace_await(program);
            continue;
        }
        if (thread < 0) return 127 << 8;
        struct latch_trace_thread *state = latch_trace_find(threads, capacity, thread);
        if (!WIFSTOPPED(status)) {
            if (state) state->thread = 0;
            if (thread == program) return status;
            continue;
        }
        int signal = WSTOPSIG(status), event = status >> 16, inject = 0;
        // From its exec on it is the program, and its calls count.
        if (event == PTRACE_EVENT_EXEC) __atomic_store_n(&trace->process, program, __ATOMIC_RELEASE);
        if (signal == (SIGTRAP | 0x80)) {
            if (latch_trace_counts(state, thread, at_exit)) {
                if (count < LATCH_TRACE_CAPACITY) trace->calls[count] = (uint16_t)state->call;
                __atomic_store_n(&trace->count, ++count, __ATOMIC_RELEASE);
                if (count == kill_at) {
                    // A call whose thread is killed at its entry is not carried out.
                    kill(program, SIGKILL);
                    continue;
                }
            }
        } else if (event == PTRACE_EVENT_STOP && signal != SIGTRAP) {
            ptrace(PTRACE_LISTEN, thread, 0, 0);
            continue;
        } else if (event == 0) {
            inject = signal;
        }
        ptrace(PTRACE_SYSCALL, thread, 0, (long)inject);
    }
}

// Starts `arguments[0]` with these descriptors as its standard ones and this environment (0: this process's own) under a tracer, which kills it at the stop with the number
// `kill_at` (0: at none), and ends as the program has ended. The tracer's process id, or -1.
static inline pid_t latch_trace_spawn(
    char *const arguments[], char *const environment[], int input, int output, int error, struct latch_trace *trace,
    uint64_t kill_at, int at_exit) {
    pid_t parent = getpid();
    pid_t tracer = fork();
    if (tracer != 0) return tracer;
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &all, 0);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || getppid() != parent) _exit(127);
    if (dup2(input, 0) < 0 || dup2(output, 1) < 0 || dup2(error, 2) < 0) _exit(127);
    // What the one that started it has open is not for a process that does not exec: a peer would not see it closed.
    syscall(SYS_close_range, 3u, ~0u, 0u);
    int gate[2];
    if (pipe(gate) != 0) _exit(127);
    pid_t self = getpid();
    pid_t program = fork();
    if (program < 0) _exit(127);
    if (program == 0) {
        char go;
        sigprocmask(SIG_SETMASK, &none, 0);
        close(gate[1]);
        if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || getppid() != self) _exit(127);
        if (read(gate[0], &go, 1) != 1) _exit(127);
        close(gate[0]);
        execve(arguments[0], arguments, environment ? environment : __environ);
        _exit(127);
    }
    close(gate[0]);
    // Ignored, it would not come.
    struct sigaction usual = {.sa_handler = SIG_DFL};
    sigset_t awaited = latch_trace_signals();
    sigaction(SIGCHLD, &usual, 0);
    sigprocmask(SIG_SETMASK, &awaited, 0);
    long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    if (ptrace(PTRACE_SEIZE, program, 0, options) != 0) {
        __atomic_store_n(&trace->error, errno, __ATOMIC_RELEASE);
        kill(program, SIGKILL);
        _exit(127);
    }
    if (write(gate[1], "", 1) != 1) _exit(127);
    close(gate[1]);
    int status = latch_trace_serve(trace, program, kill_at, at_exit);
    if (!WIFSIGNALED(status)) _exit(WEXITSTATUS(status));
    // Ends as it ended, without a core of its own.
    struct rlimit nothing = {0, 0};
    setrlimit(RLIMIT_CORE, &nothing);
    sigaction(WTERMSIG(status), &usual, 0);
    sigdelset(&awaited, WTERMSIG(status));
    sigprocmask(SIG_SETMASK, &awaited, 0);
    kill(self, WTERMSIG(status));
    _exit(128 + WTERMSIG(status));
}
