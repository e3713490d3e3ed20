// The one way watchd starts a process.
//
// clone(CLONE_VM | CLONE_VFORK): the child borrows the parent's memory until it executes its file, so a start costs the
// same however large the daemon is. Its stack is a piece of that of the calling thread, which is stopped meanwhile.
// The child
//   - makes raw system calls only (glibc's setters reach for every thread, its locks may be held by one of them),
//   - is started with every signal blocked, so that no handler of the parent can run in the shared memory,
//   - tells what failed by writing into that memory.
// CLONE_PIDFD hands the parent a descriptor of the very process, whatever happens to its number.
#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// The sanitizers' bookkeeping is the parent thread's, and the child never returns to balance it.
#define CHILD __attribute__((disable_sanitizer_instrumentation, no_stack_protector))

// clone(2) by glibc's other name for it: the sanitizers wrap the usual one, and their wrapper would run in the child.
extern int __clone(int (*child)(void *), void *stack, int flags, void *argument, ...);

enum {
    STACK_SIZE = 16 * 1024, // a few hundred bytes are used
    LAST_SIGNAL = 64,
    LAST_CLOSED_ONE_BY_ONE = 65536,
    IO_PRIORITY_OF_PROCESS = 1, // IOPRIO_WHO_PROCESS of linux/ioprio.h
};

// The kernel's own signal set and sigaction: glibc's are larger and know signals that it keeps to itself.
typedef uint64_t kernel_signal_set;

struct kernel_signal_action {
    void *handler;
    unsigned long flags;
    void *restorer;
    kernel_signal_set mask;
};

// The limit that watchd was started with, before it raised its own: programs that use select(2) break beyond 1024.
static struct rlimit descriptor_limit;
static int has_raised_limit;

int clinux_raise_descriptor_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return -1;
    if (limit.rlim_cur == limit.rlim_max) return 0;
    descriptor_limit = limit;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0) return -1;
    has_raised_limit = 1;
    return 0;
}

// Signals that are not at their default, one bit each: looked at once, since to set all 64 in every child takes longer
// than everything else that is done there. Code that changes one says so (clinux_ignore_signal,
// clinux_dispositions_changed).
static pthread_mutex_t dispositions_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t dispositions;
static int are_dispositions_known;

static uint64_t changed_dispositions(void) {
    pthread_mutex_lock(&dispositions_lock);
    if (!are_dispositions_known) {
        dispositions = 0;
        for (int signal = 1; signal <= LAST_SIGNAL; signal++) {
            struct kernel_signal_action action = {0}; // SIG_DFL
            // One that cannot be looked at is reset.
            long result = syscall(SYS_rt_sigaction, signal, NULL, &action, sizeof(kernel_signal_set));
            if (result < 0 || action.handler) dispositions |= (uint64_t)1 << (signal - 1);
        }
        are_dispositions_known = 1;
    }
    const uint64_t found = dispositions;
    pthread_mutex_unlock(&dispositions_lock);
    return found;
}

void clinux_dispositions_changed(void) {
    pthread_mutex_lock(&dispositions_lock);
    are_dispositions_known = 0;
    pthread_mutex_unlock(&dispositions_lock);
}

void clinux_ignore_signal(int number) {
    signal(number, SIG_IGN);
    clinux_dispositions_changed();
}

struct child {
    const struct clinux_spawn_spec *spec;
    uint64_t dispositions;
    volatile int step;
    volatile int error;
    volatile int index;
};

CHILD static int failed(struct child *child, int step) {
    child->error = errno;
    child->step = step;
    return 127;
}

// No handler of the parent may run once signals are let in, and what is ignored would stay so in the file executed.
CHILD static void reset_signal_handlers(uint64_t changed) {
    const struct kernel_signal_action action = {0}; // SIG_DFL
    for (int signal = 1; signal <= LAST_SIGNAL; signal++)
        if (changed >> (signal - 1) & 1)
            syscall(SYS_rt_sigaction, signal, &action, NULL, sizeof(kernel_signal_set));
}

// Every descriptor from `first` on. Those of watchd's own are close-on-exec anyway; this is for what it inherited.
CHILD static void close_from(int first) {
    if (syscall(SYS_close_range, first, ~0u, 0) == 0) return;
    // Before Linux 5.9, or forbidden by an old seccomp filter.
    struct rlimit limit = {0};
    syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit);
    rlim_t last = limit.rlim_cur < LAST_CLOSED_ONE_BY_ONE ? limit.rlim_cur : LAST_CLOSED_ONE_BY_ONE;
    for (int descriptor = first; (rlim_t)descriptor < last; descriptor++) syscall(SYS_close, descriptor);
}

// Descriptors that stand where another one is to go are moved out of the way first.
CHILD static int place_descriptors(const struct clinux_spawn_spec *spec) {
    int source[CLINUX_SPAWN_MAX_DESCRIPTORS];
    const int count = spec->descriptor_count;
    for (int i = 0; i < count; i++) {
        source[i] = spec->descriptors[i];
        if (source[i] < 0 || source[i] >= count) continue;
        source[i] = (int)syscall(SYS_fcntl, source[i], F_DUPFD, count);
        if (source[i] < 0) return -1;
    }
    for (int i = 0; i < count; i++)
        if (syscall(SYS_dup3, source[i], i, 0) < 0) return -1;
    return 0;
}

// Lowering a nice value needs a privilege, which is missed when the thread that spawns was made nicer than the daemon was
// started; the idle I/O class needs one of old kernels; and a kernel without block devices has no I/O priorities.
CHILD static int is_refused(void) {
    return errno == EPERM || errno == EACCES || errno == ENOSYS;
}

// With CLONE_VFORK it is the child's own, though the memory is the parent's.
CHILD static int adjust_oom_score(const char *text) {
    int file = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file < 0) return -1;
    size_t length = 0;
    while (text[length]) length++;
    long written = syscall(SYS_write, file, text, length);
    int error = errno;
    syscall(SYS_close, file);
    errno = error;
    return written < 0 ? -1 : 0;
}

// The attributes that the executed file finds: all that needs a privilege is set before anything that may take it away.
CHILD static int set_attributes(struct child *child) {
    const struct clinux_spawn_spec *spec = child->spec;
    if (spec->oom_score && adjust_oom_score(spec->oom_score) < 0) return failed(child, CLINUX_SPAWN_OOM_SCORE);
    if (spec->sets_nice && syscall(SYS_setpriority, PRIO_PROCESS, 0, spec->nice) < 0
        && (spec->sets_nice == CLINUX_SPAWN_REQUIRED || !is_refused()))
        return failed(child, CLINUX_SPAWN_NICE);
    if (spec->sets_io_priority && syscall(SYS_ioprio_set, IO_PRIORITY_OF_PROCESS, 0, spec->io_priority) < 0
        && (spec->sets_io_priority == CLINUX_SPAWN_REQUIRED || !is_refused()))
        return failed(child, CLINUX_SPAWN_IO_PRIORITY);
    if (spec->sets_policy) {
        const struct sched_param priority = {.sched_priority = spec->policy_priority};
        if (syscall(SYS_sched_setscheduler, 0, spec->policy, &priority) < 0) return failed(child, CLINUX_SPAWN_POLICY);
    }
    return 0;
}

// After the last descriptor is in its place: a limit may be lower than the number it came from.
CHILD static int set_limits(struct child *child) {
    const struct clinux_spawn_spec *spec = child->spec;
    if (has_raised_limit) syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &descriptor_limit, NULL);
    for (int i = 0; i < spec->limit_count; i++) {
        const uint64_t limit[2] = {spec->limits[i].soft, spec->limits[i].hard};
        child->index = i;
        if (syscall(SYS_prlimit64, 0, spec->limits[i].resource, limit, NULL) < 0)
            return failed(child, CLINUX_SPAWN_LIMIT);
    }
    return 0;
}

// Raw calls change this one task; glibc's would stop every thread of the parent and change those.
CHILD static int become_user(struct child *child) {
    const struct clinux_spawn_spec *spec = child->spec;
    if (spec->sets_groups && syscall(SYS_setgroups, spec->group_count, spec->groups) < 0)
        return failed(child, CLINUX_SPAWN_GROUPS);
    if (spec->sets_group && syscall(SYS_setresgid, spec->group, spec->group, spec->group) < 0)
        return failed(child, CLINUX_SPAWN_GROUP_ID);
    if (spec->sets_user && syscall(SYS_setresuid, spec->user, spec->user, spec->user) < 0)
        return failed(child, CLINUX_SPAWN_USER_ID);
    return 0;
}

// A process group of its own; and for another user, where watchd runs in a terminal, a session of its own: a process
// with that terminal can type into it (`TIOCSTI`, `ioctl_tty(2)`).
CHILD static int lead_group(const struct clinux_spawn_spec *spec) {
    if (spec->sets_user) {
        const int terminal = (int)syscall(SYS_openat, AT_FDCWD, "/dev/tty", O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
        if (terminal >= 0) syscall(SYS_close, terminal);
        if (terminal >= 0 || errno != ENXIO) return (int)syscall(SYS_setsid);
    }
    return (int)syscall(SYS_setpgid, 0, 0);
}

CHILD static int run_child(void *argument) {
    struct child *child = argument;
    const struct clinux_spawn_spec *spec = child->spec;
    reset_signal_handlers(child->dispositions);
    const kernel_signal_set none = 0;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof none);
    if (lead_group(spec) < 0) return failed(child, CLINUX_SPAWN_GROUP);
    // First of all: what follows is counted there, and limited.
    if (spec->control_group >= 0 && syscall(SYS_write, spec->control_group, "0", 1) < 0)
        return failed(child, CLINUX_SPAWN_CONTROL_GROUP);
    if (set_attributes(child) != 0) return 127;
    if (spec->mask >= 0) syscall(SYS_umask, spec->mask);
    if (place_descriptors(spec) < 0) return failed(child, CLINUX_SPAWN_DESCRIPTORS);
    close_from(spec->descriptor_count);
    if (set_limits(child) != 0) return 127;
    if (become_user(child) != 0) return 127;
    if (spec->has_no_new_privileges && syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return failed(child, CLINUX_SPAWN_PRIVILEGES);
    if (spec->folder && syscall(SYS_chdir, spec->folder) < 0) return failed(child, CLINUX_SPAWN_FOLDER);
    syscall(SYS_execve, spec->path, spec->arguments, spec->environment);
    return failed(child, CLINUX_SPAWN_EXEC);
}

static int refuse(struct clinux_spawned *result, int step, int error) {
    *result = (struct clinux_spawned){.pid = -1, .pidfd = -1, .step = step, .error = error};
    return -1;
}

// A child that becomes another user makes the memory it shares with the parent undumpable, which the kernel does so that
// the other user cannot look into it. That must hold until the last such child has executed its file, and no longer: the
// daemon itself could not dump core any more, nor be looked at.
static pthread_mutex_t dumpable_lock = PTHREAD_MUTEX_INITIALIZER;
static int dumpable;
static int becoming_count;

static void begin_becoming(void) {
    pthread_mutex_lock(&dumpable_lock);
    if (becoming_count++ == 0) dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
    pthread_mutex_unlock(&dumpable_lock);
}

static void end_becoming(void) {
    pthread_mutex_lock(&dumpable_lock);
    if (--becoming_count == 0 && dumpable == 1) prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    pthread_mutex_unlock(&dumpable_lock);
}

int clinux_spawn(const struct clinux_spawn_spec *spec, struct clinux_spawned *result) {
    if (spec->descriptor_count < 0 || spec->descriptor_count > CLINUX_SPAWN_MAX_DESCRIPTORS)
        return refuse(result, CLINUX_SPAWN_DESCRIPTORS, EINVAL);

    _Alignas(64) char stack[STACK_SIZE];
    struct child child = {.spec = spec, .dispositions = changed_dispositions()};
    const int becomes_other = spec->sets_groups || spec->sets_group || spec->sets_user;
    const kernel_signal_set all = ~(kernel_signal_set)0;
    kernel_signal_set before;
    int pidfd = -1;
    if (becomes_other) begin_becoming();
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, &before, sizeof all);
    int pid = __clone(run_child, stack + STACK_SIZE, CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, &child, &pidfd);
    int error = errno;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
    if (becomes_other) end_becoming();

    if (pid < 0) return refuse(result, CLINUX_SPAWN_CLONE, error);
    if (child.step != 0) {
        int code, status;
        while (clinux_waitid_pidfd(pidfd, WEXITED, &code, &status) < 0 && errno == EINTR) {}
        close(pidfd);
        refuse(result, child.step, child.error);
        result->index = child.index;
        return -1;
    }
    *result = (struct clinux_spawned){.pid = pid, .pidfd = pidfd};
    return 0;
}
