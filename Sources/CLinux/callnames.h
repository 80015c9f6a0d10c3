// The names of system calls, by which reports tell where a process was killed. Which exist depends on the architecture.
#pragma once
#include <sys/syscall.h>

// The name of a call; nothing for one that no daemon of ours is known to make.
static inline const char *latch_call_name(int call) {
    switch (call) {
#ifdef SYS_read
    case SYS_read: return "read";
#endif
#ifdef SYS_write
    case SYS_write: return "write";
#endif
#ifdef SYS_readv
    case SYS_readv: return "readv";
#endif
#ifdef SYS_writev
    case SYS_writev: return "writev";
#endif
#ifdef SYS_pread64
    case SYS_pread64: return "pread64";
#endif
#ifdef SYS_pwrite64
    case SYS_pwrite64: return "pwrite64";
#endif
#ifdef SYS_openat
    case SYS_openat: return "openat";
#endif
#ifdef SYS_close
    case SYS_close: return "close";
#endif
#ifdef SYS_fstat
    case SYS_fstat: return "fstat";
#endif
#ifdef SYS_newfstatat
    case SYS_newfstatat: return "newfstatat";
#endif
#ifdef SYS_lstat
    case SYS_lstat: return "lstat";
#endif
#ifdef SYS_stat
    case SYS_stat: return "stat";
#endif
#ifdef SYS_statx
    case SYS_statx: return "statx";
#endif
#ifdef SYS_lseek
    case SYS_lseek: return "lseek";
#endif
#ifdef SYS_mmap
    case SYS_mmap: return "mmap";
#endif
#ifdef SYS_munmap
    case SYS_munmap: return "munmap";
#endif
#ifdef SYS_mprotect
    case SYS_mprotect: return "mprotect";
#endif
#ifdef SYS_madvise
    case SYS_madvise: return "madvise";
#endif
#ifdef SYS_mremap
    case SYS_mremap: return "mremap";
#endif
#ifdef SYS_brk
    case SYS_brk: return "brk";
#endif
#ifdef SYS_mincore
    case SYS_mincore: return "mincore";
#endif
#ifdef SYS_msync
    case SYS_msync: return "msync";
#endif
#ifdef SYS_ftruncate
    case SYS_ftruncate: return "ftruncate";
#endif
#ifdef SYS_fallocate
    case SYS_fallocate: return "fallocate";
#endif
#ifdef SYS_fsync
    case SYS_fsync: return "fsync";
#endif
#ifdef SYS_fdatasync
    case SYS_fdatasync: return "fdatasync";
#endif
#ifdef SYS_fcntl
    case SYS_fcntl: return "fcntl";
#endif
#ifdef SYS_flock
    case SYS_flock: return "flock";
#endif
#ifdef SYS_ioctl
    case SYS_ioctl: return "ioctl";
#endif
#ifdef SYS_dup
    case SYS_dup: return "dup";
#endif
#ifdef SYS_dup2
    case SYS_dup2: return "dup2";
#endif
#ifdef SYS_dup3
    case SYS_dup3: return "dup3";
#endif
#ifdef SYS_pipe2
    case SYS_pipe2: return "pipe2";
#endif
#ifdef SYS_access
    case SYS_access: return "access";
#endif
#ifdef SYS_faccessat
    case SYS_faccessat: return "faccessat";
#endif
#ifdef SYS_faccessat2
    case SYS_faccessat2: return "faccessat2";
#endif
#ifdef SYS_readlink
    case SYS_readlink: return "readlink";
#endif
#ifdef SYS_readlinkat
    case SYS_readlinkat: return "readlinkat";
#endif
#ifdef SYS_unlink
    case SYS_unlink: return "unlink";
#endif
#ifdef SYS_unlinkat
    case SYS_unlinkat: return "unlinkat";
#endif
#ifdef SYS_rename
    case SYS_rename: return "rename";
#endif
#ifdef SYS_renameat
    case SYS_renameat: return "renameat";
#endif
#ifdef SYS_renameat2
    case SYS_renameat2: return "renameat2";
#endif
#ifdef SYS_link
    case SYS_link: return "link";
#endif
#ifdef SYS_linkat
    case SYS_linkat: return "linkat";
#endif
#ifdef SYS_mkdir
    case SYS_mkdir: return "mkdir";
#endif
#ifdef SYS_mkdirat
    case SYS_mkdirat: return "mkdirat";
#endif
#ifdef SYS_rmdir
    case SYS_rmdir: return "rmdir";
#endif
#ifdef SYS_chmod
    case SYS_chmod: return "chmod";
#endif
#ifdef SYS_fchmod
    case SYS_fchmod: return "fchmod";
#endif
#ifdef SYS_fchmodat
    case SYS_fchmodat: return "fchmodat";
#endif
#ifdef SYS_chown
    case SYS_chown: return "chown";
#endif
#ifdef SYS_fchown
    case SYS_fchown: return "fchown";
#endif
#ifdef SYS_fchownat
    case SYS_fchownat: return "fchownat";
#endif
#ifdef SYS_umask
    case SYS_umask: return "umask";
#endif
#ifdef SYS_getdents64
    case SYS_getdents64: return "getdents64";
#endif
#ifdef SYS_getcwd
    case SYS_getcwd: return "getcwd";
#endif
#ifdef SYS_utimensat
    case SYS_utimensat: return "utimensat";
#endif
#ifdef SYS_futex
    case SYS_futex: return "futex";
#endif
#ifdef SYS_set_robust_list
    case SYS_set_robust_list: return "set_robust_list";
#endif
#ifdef SYS_get_robust_list
    case SYS_get_robust_list: return "get_robust_list";
#endif
#ifdef SYS_rseq
    case SYS_rseq: return "rseq";
#endif
#ifdef SYS_set_tid_address
    case SYS_set_tid_address: return "set_tid_address";
#endif
#ifdef SYS_sched_yield
    case SYS_sched_yield: return "sched_yield";
#endif
#ifdef SYS_sched_getaffinity
    case SYS_sched_getaffinity: return "sched_getaffinity";
#endif
#ifdef SYS_clone
    case SYS_clone: return "clone";
#endif
#ifdef SYS_clone3
    case SYS_clone3: return "clone3";
#endif
#ifdef SYS_execve
    case SYS_execve: return "execve";
#endif
#ifdef SYS_exit
    case SYS_exit: return "exit";
#endif
#ifdef SYS_exit_group
    case SYS_exit_group: return "exit_group";
#endif
#ifdef SYS_wait4
    case SYS_wait4: return "wait4";
#endif
#ifdef SYS_kill
    case SYS_kill: return "kill";
#endif
#ifdef SYS_tgkill
    case SYS_tgkill: return "tgkill";
#endif
#ifdef SYS_getpid
    case SYS_getpid: return "getpid";
#endif
#ifdef SYS_gettid
    case SYS_gettid: return "gettid";
#endif
#ifdef SYS_getppid
    case SYS_getppid: return "getppid";
#endif
#ifdef SYS_getuid
    case SYS_getuid: return "getuid";
#endif
#ifdef SYS_geteuid
    case SYS_geteuid: return "geteuid";
#endif
#ifdef SYS_getgid
    case SYS_getgid: return "getgid";
#endif
#ifdef SYS_getegid
    case SYS_getegid: return "getegid";
#endif
#ifdef SYS_prctl
    case SYS_prctl: return "prctl";
#endif
#ifdef SYS_arch_prctl
    case SYS_arch_prctl: return "arch_prctl";
#endif
#ifdef SYS_prlimit64
    case SYS_prlimit64: return "prlimit64";
#endif
#ifdef SYS_getrlimit
    case SYS_getrlimit: return "getrlimit";
#endif
#ifdef SYS_sysinfo
    case SYS_sysinfo: return "sysinfo";
#endif
#ifdef SYS_uname
    case SYS_uname: return "uname";
#endif
#ifdef SYS_getrandom
    case SYS_getrandom: return "getrandom";
#endif
#ifdef SYS_clock_gettime
    case SYS_clock_gettime: return "clock_gettime";
#endif
#ifdef SYS_clock_nanosleep
    case SYS_clock_nanosleep: return "clock_nanosleep";
#endif
#ifdef SYS_nanosleep
    case SYS_nanosleep: return "nanosleep";
#endif
#ifdef SYS_timerfd_create
    case SYS_timerfd_create: return "timerfd_create";
#endif
#ifdef SYS_timerfd_settime
    case SYS_timerfd_settime: return "timerfd_settime";
#endif
#ifdef SYS_signalfd4
    case SYS_signalfd4: return "signalfd4";
#endif
#ifdef SYS_eventfd2
    case SYS_eventfd2: return "eventfd2";
#endif
#ifdef SYS_epoll_create1
    case SYS_epoll_create1: return "epoll_create1";
#endif
#ifdef SYS_epoll_ctl
    case SYS_epoll_ctl: return "epoll_ctl";
#endif
#ifdef SYS_epoll_wait
    case SYS_epoll_wait: return "epoll_wait";
#endif
#ifdef SYS_epoll_pwait
    case SYS_epoll_pwait: return "epoll_pwait";
#endif
#ifdef SYS_poll
    case SYS_poll: return "poll";
#endif
#ifdef SYS_ppoll
    case SYS_ppoll: return "ppoll";
#endif
#ifdef SYS_select
    case SYS_select: return "select";
#endif
#ifdef SYS_pselect6
    case SYS_pselect6: return "pselect6";
#endif
#ifdef SYS_socket
    case SYS_socket: return "socket";
#endif
#ifdef SYS_socketpair
    case SYS_socketpair: return "socketpair";
#endif
#ifdef SYS_bind
    case SYS_bind: return "bind";
#endif
#ifdef SYS_listen
    case SYS_listen: return "listen";
#endif
#ifdef SYS_accept
    case SYS_accept: return "accept";
#endif
#ifdef SYS_accept4
    case SYS_accept4: return "accept4";
#endif
#ifdef SYS_connect
    case SYS_connect: return "connect";
#endif
#ifdef SYS_getsockname
    case SYS_getsockname: return "getsockname";
#endif
#ifdef SYS_getpeername
    case SYS_getpeername: return "getpeername";
#endif
#ifdef SYS_setsockopt
    case SYS_setsockopt: return "setsockopt";
#endif
#ifdef SYS_getsockopt
    case SYS_getsockopt: return "getsockopt";
#endif
#ifdef SYS_sendto
    case SYS_sendto: return "sendto";
#endif
#ifdef SYS_recvfrom
    case SYS_recvfrom: return "recvfrom";
#endif
#ifdef SYS_sendmsg
    case SYS_sendmsg: return "sendmsg";
#endif
#ifdef SYS_recvmsg
    case SYS_recvmsg: return "recvmsg";
#endif
#ifdef SYS_shutdown
    case SYS_shutdown: return "shutdown";
#endif
#ifdef SYS_rt_sigaction
    case SYS_rt_sigaction: return "rt_sigaction";
#endif
#ifdef SYS_rt_sigprocmask
    case SYS_rt_sigprocmask: return "rt_sigprocmask";
#endif
#ifdef SYS_rt_sigreturn
    case SYS_rt_sigreturn: return "rt_sigreturn";
#endif
#ifdef SYS_rt_sigtimedwait
    case SYS_rt_sigtimedwait: return "rt_sigtimedwait";
#endif
#ifdef SYS_sigaltstack
    case SYS_sigaltstack: return "sigaltstack";
#endif
#ifdef SYS_restart_syscall
    case SYS_restart_syscall: return "restart_syscall";
#endif
#ifdef SYS_statfs
    case SYS_statfs: return "statfs";
#endif
#ifdef SYS_fstatfs
    case SYS_fstatfs: return "fstatfs";
#endif
#ifdef SYS_sync_file_range
    case SYS_sync_file_range: return "sync_file_range";
#endif
#ifdef SYS_fadvise64
    case SYS_fadvise64: return "fadvise64";
#endif
#ifdef SYS_pidfd_open
    case SYS_pidfd_open: return "pidfd_open";
#endif
#ifdef SYS_close_range
    case SYS_close_range: return "close_range";
#endif
#ifdef SYS_membarrier
    case SYS_membarrier: return "membarrier";
#endif
#ifdef SYS_memfd_create
    case SYS_memfd_create: return "memfd_create";
#endif
    default: return 0;
    }
}
