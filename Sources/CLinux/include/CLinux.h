// The parts of Linux that Swift cannot see: variadic functions, functions and constants behind _GNU_SOURCE, and newer
// kernel interfaces that glibc 2.36 does not wrap. Only LinuxSystem imports this. Where nothing else is said, a
// function returns -1 and sets errno, as the system call of its name.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/types.h>

// Constants behind _GNU_SOURCE, or spelled so that Swift cannot import them.
enum {
    CLINUX_O_PATH = 010000000,
    CLINUX_F_ADD_SEALS = 1033,
    CLINUX_SEAL_EVERYTHING = 0x1 | 0x2 | 0x4 | 0x8, // F_SEAL_SEAL, _SHRINK, _GROW, _WRITE
    CLINUX_F_SETPIPE_SZ = 1031,
    CLINUX_F_GETPIPE_SZ = 1032,
    CLINUX_F_SETSIG = 10,
    CLINUX_F_SETLEASE = 1024,
    CLINUX_F_GETSIG = 11,
    CLINUX_POLLRDHUP = 0x2000,
    CLINUX_TIMER_CANCEL_ON_SET = 1 << 1, // TFD_TIMER_CANCEL_ON_SET
};

/// `ENOENT`; NULL for a number that is no error. A constant string.
const char *_Nullable clinux_errno_name(int code);

/// `No such file or directory`, never translated; NULL for a number that is no error. A constant string.
const char *_Nullable clinux_errno_text(int code);

/// The process's environment: strings `NAME=VALUE`, then NULL.
char *_Nullable *_Nullable clinux_environment(void);

/// The arguments of `main`: the program's name and its arguments, then NULL. Not from `/proc`, which may be hidden.
char *_Nullable *_Nullable clinux_arguments(void);

/// `sigaction(2)`: each signal that is ignored is at its default from now on; handlers stay.
void clinux_default_ignored_signals(void);

/// `signal(2)` with SIG_IGN, for the whole process.
void clinux_ignore_signal(int number);

/// To be called by whoever changes what signals do, otherwise than by the two above, once a process has been spawned: a
/// spawn resets those that were not at their default when it last looked.
void clinux_dispositions_changed(void);

enum { CLINUX_MOST_THREADS = 64 };

/// Starts so many threads at once, at most CLINUX_MOST_THREADS, and ends them: how many there could be.
int clinux_threads_to_be_had(int count);

/// From now on a detached thread that cannot be made for want of tasks (EAGAIN) counts as made, and is owed: Dispatch,
/// which asks for it, does not wait. `notice` is an eventfd, which is signalled when one has come to be owed.
void clinux_owe_threads(int notice);
/// Makes threads that are owed, as far as it goes. Returns how many are owed still.
int clinux_make_owed_threads(void);
/// How many are owed.
int clinux_owed_threads(void);
/// The calling thread is one that is owed, until that one would have ended; nothing, where none is owed.
void clinux_be_owed_thread(void);

/// Calls `run` on a thread of its own, detached.
int clinux_start_thread(void (*_Nonnull run)(void *_Nullable), void *_Nullable context);

/// `fchmod(2)`, also of a descriptor that was opened with O_PATH.
int clinux_chmod_place(int descriptor, unsigned mode);
/// `fchownat(2)` AT_EMPTY_PATH: also of a descriptor that was opened with O_PATH.
int clinux_chown_place(int descriptor, unsigned user, unsigned group);

/// `getdents64(2)`: records of an open folder, 0 at its end.
ssize_t clinux_getdents(int folder, void *_Nullable buffer, size_t size);

/// `inotify_add_watch(2)` of an open file or folder, wherever it stands by now.
int clinux_inotify_add(int inotify, int descriptor, unsigned mask);

/// `statfs(2)`: the magic number of the file system.
long clinux_file_system_type(const char *_Nonnull path);
/// `fstatfs(2)`: the same.
long clinux_file_system_type_of(int descriptor);

int clinux_pipe2(int ends[_Nonnull 2], int flags);
/// Without waiting, whatever the pipes say.
ssize_t clinux_tee(int from, int to, size_t limit);

int clinux_accept4(int socket, int flags);

/// A non-blocking socket of a netlink family (`linux/netlink.h`), bound to a mask of its multicast groups.
int clinux_netlink(int family, unsigned groups);

/// `mq_open(3)`, non-blocking, for reading and writing.
int clinux_mq_open(const char *_Nonnull name);
/// The same of one that is not there yet, with these permissions (cut by the umask) and the system's attributes.
int clinux_mq_make(const char *_Nonnull name, unsigned mode);
int clinux_mq_unlink(const char *_Nonnull name);
/// Bytes of its longest message.
long clinux_mq_message_size(int queue);
ssize_t clinux_mq_receive(int queue, char *_Nonnull buffer, size_t size);
int clinux_memfd_create(const char *_Nonnull name);

/// SO_PEERCRED.
int clinux_peer_credentials(int socket, int *_Nonnull pid, unsigned *_Nonnull uid, unsigned *_Nonnull gid);

/// The processors this process may run on (`sched_getaffinity(2)`), at least 1; never fails.
int clinux_processor_count(void);

/// `statx(2)` AT_STATX_FORCE_SYNC: returns when the file system has answered, whatever the answer.
int clinux_ask(const char *_Nonnull path);

/// `statx(2)` STATX_ATTR_MOUNT_ROOT (Linux 5.8): whether something is mounted at the path: 1, 0, or -1
/// (`errno`).
int clinux_is_mount_point(const char *_Nonnull path);

/// Whether a cgroup's folder has the attribute by which systemd delegates it: 1, or 0.
int clinux_is_delegated(const char *_Nonnull path);

/// `statx(2)` STATX_BTIME: when the open file was made, in nanoseconds since the epoch; 0: not known.
int64_t clinux_birth_time(int descriptor);

/// PR_SET_NAME: the calling thread's name, cut at 15 bytes.
int clinux_set_thread_name(const char *_Nonnull name);

/// `ioprio_get(2)`: the calling thread's I/O priority, the class << 13 | the level; 0: none was set.
int clinux_io_priority(void);

/// `mallopt(3)` M_ARENA_MAX: how many arenas the allocator may make; by default 8 for each processor.
void clinux_limit_arenas(int count);

/// `mallinfo2(3)`: bytes that the allocator has given out, over all arenas and mappings of their own.
size_t clinux_allocated_bytes(void);

/// `malloc_trim(3)`: gives free memory back to the kernel.
void clinux_trim_memory(void);

/// `madvise(2)` MADV_DONTNEED of what is mapped of the program and its libraries and cannot be written. The kernel maps it
/// again where it is executed or read. Breakpoints that stand there are lost: those of debuggers
/// and uprobes.
void clinux_unmap_code(void);

// Processes by descriptor (Linux 5.4 or newer).

int clinux_pidfd_open(int pid);
int clinux_pidfd_send_signal(int pidfd, int signal);

/// `waitid(P_PIDFD)`. `code` is CLD_EXITED, CLD_KILLED or CLD_DUMPED, or 0 while the process lives and options have
/// WNOHANG; `status` is the exit code or the signal.
int clinux_waitid_pidfd(int pidfd, int options, int *_Nonnull code, int *_Nonnull status);

/// Of `struct rusage`: microseconds of processors, and bytes; `peak_memory` 0: not known.
struct clinux_usage {
    uint64_t processor_usec, peak_memory, read, written;
};

/// The same with WEXITED and WNOHANG, and what the child and those that it has waited for have used (`getrusage(2)`).
int clinux_reap_pidfd(int pidfd, int *_Nonnull code, int *_Nonnull status, struct clinux_usage *_Nonnull used);

/// `recvmsg(2)` without waiting, with the sender's process and user (SO_PASSCRED has to be on); pid 0: they are not told.
ssize_t clinux_receive_credentials(
    int socket, void *_Nonnull bytes, size_t count, int32_t *_Nonnull pid, uint32_t *_Nonnull user);

/// `struct pidfd_info` of linux/pidfd.h in its first version (64 bytes).
struct clinux_pidfd_info {
    uint64_t mask;
    uint64_t cgroup_id;
    uint32_t pid, thread_group, parent_pid;
    uint32_t real_uid, real_gid, effective_uid, effective_gid, saved_uid, saved_gid, file_uid, file_gid;
    int32_t exit_code; // a wait status
};

enum {
    CLINUX_PIDFD_INFO_PID = 1 << 0,
    CLINUX_PIDFD_INFO_EXIT = 1 << 3, // Linux 6.15
};

/// PIDFD_GET_INFO (Linux 6.13); `info->mask` says what is asked, and then what was told.
int clinux_pidfd_get_info(int pidfd, struct clinux_pidfd_info *_Nonnull info);

// Reports about processes, from the kernel's process connector.

enum clinux_process_event_kind {
    CLINUX_PROCESS_ACKNOWLEDGED = 1, // `status` is an errno, 0 if the subscription holds
    CLINUX_PROCESS_FORKED,
    CLINUX_PROCESS_EXECUTED,
    CLINUX_PROCESS_DUMPED,
    CLINUX_PROCESS_ENDED, // `status` is a wait status
    CLINUX_PROCESS_OTHER, // of no interest but for its number
};

struct clinux_process_event {
    int kind;
    int process; // never a thread that is not its process's first
    int parent;  // of CLINUX_PROCESS_FORKED
    int status;
    unsigned processor; // where it happened; UINT_MAX: not told
    unsigned number;    // one more than that of the event before on the same processor, unless some were dropped
    int64_t at;         // CLOCK_MONOTONIC, in microseconds
};

/// A non-blocking netlink socket that is told what every process does, with a receive buffer of so many bytes.
int clinux_process_connector(int buffer);

/// The next event, of those above. ENOBUFS: the kernel has dropped some, though it does not say so of all.
int clinux_process_event(int socket, struct clinux_process_event *_Nonnull event);

// The one spawn.

/// `setrlimit(2)` RLIMIT_NOFILE: as many descriptors as are allowed at most. Processes that are spawned get back what
/// there was before. To be called before there are threads.
int clinux_raise_descriptor_limit(void);

/// Where a spawn failed. In the order in which the child goes through them.
enum clinux_spawn_step {
    CLINUX_SPAWN_CLONE = 1, // no process was made
    CLINUX_SPAWN_GROUP,
    CLINUX_SPAWN_CONTROL_GROUP,
    CLINUX_SPAWN_OOM_SCORE,
    CLINUX_SPAWN_NICE,
    CLINUX_SPAWN_IO_PRIORITY,
    CLINUX_SPAWN_POLICY,
    CLINUX_SPAWN_DESCRIPTORS,
    CLINUX_SPAWN_LIMIT,
    CLINUX_SPAWN_GROUPS,
    CLINUX_SPAWN_GROUP_ID,
    CLINUX_SPAWN_USER_ID,
    CLINUX_SPAWN_PRIVILEGES,
    CLINUX_SPAWN_FOLDER,
    CLINUX_SPAWN_EXEC,
};

/// Whether a nice value or an I/O priority is set.
enum {
    CLINUX_SPAWN_IF_ALLOWED = 1, // left as it is where the kernel refuses for want of a privilege
    CLINUX_SPAWN_REQUIRED,
};

enum { CLINUX_SPAWN_MAX_DESCRIPTORS = 16 };

/// One of setrlimit(2).
struct clinux_limit {
    int resource;
    uint64_t soft, hard; // UINT64_MAX: none
};

struct clinux_spawn_spec {
    const char *_Nonnull path;                   // the file to execute; not looked up in PATH
    char *_Nullable const *_Nonnull arguments;   // NULL at the end
    char *_Nullable const *_Nonnull environment; // NULL at the end
    const char *_Nullable folder;                // chdir(2); NULL: stay
    const int *_Nullable descriptors;            // [n] becomes the child's n; it gets no other
    int descriptor_count;                        // at most CLINUX_SPAWN_MAX_DESCRIPTORS
    int control_group;                           // cgroup.procs of the cgroup it enters, open for writing; -1: stay
    int mask;                                    // umask(2); -1: inherited
    int sets_nice;                               // 0, CLINUX_SPAWN_IF_ALLOWED or CLINUX_SPAWN_REQUIRED
    int nice;                                    // setpriority(2), absolute
    int sets_io_priority;                        // as `sets_nice`
    int io_priority;                             // ioprio_set(2): the class << 13 | the level
    int sets_policy;                             // whether `policy` counts
    int policy;                                  // sched_setscheduler(2)
    int policy_priority;                         // of a real-time policy
    const char *_Nullable oom_score;             // what is written to oom_score_adj; NULL: inherited
    const struct clinux_limit *_Nullable limits; // setrlimit(2), in this order
    int limit_count;
    int sets_groups;                             // whether `groups` counts
    const unsigned *_Nullable groups;            // setgroups(2)
    int group_count;
    int sets_group;                              // whether `group` counts
    unsigned group;                              // setresgid(2)
    int sets_user;                               // whether `user` counts
    unsigned user;                               // setresuid(2)
    int has_no_new_privileges;                   // PR_SET_NO_NEW_PRIVS
};

struct clinux_spawned {
    int pid;
    int pidfd; // close-on-exec
    int step;  // of enum clinux_spawn_step, when it failed
    int error; // errno, when it failed
    int index; // of `limits`, when it failed at CLINUX_SPAWN_LIMIT
};

/// Starts a process; returns once it has executed its file, or failed to. 0, or -1 with `step` and `error` in `result`
/// (and then nothing is left behind).
///
/// The child has an empty signal mask, every signal at its default, and a process group of its own. It enters its
/// folder last, as who it has become.
int clinux_spawn(const struct clinux_spawn_spec *_Nonnull spec, struct clinux_spawned *_Nonnull result);
