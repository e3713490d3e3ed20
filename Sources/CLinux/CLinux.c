#define _GNU_SOURCE
#include "CLinux.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/netlink.h>
#include <malloc.h>
#include <mqueue.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

const char *clinux_errno_name(int code) { return code == 0 ? NULL : strerrorname_np(code); }

const char *clinux_errno_text(int code) { return code == 0 ? NULL : strerrordesc_np(code); }

char **clinux_environment(void) { return environ; }

static char **arguments;

// glibc gives the functions of .init_array what main() gets.
__attribute__((constructor)) static void keep_arguments(int count, char **values, char **environment) {
    (void)count, (void)environment;
    arguments = values;
}

char **clinux_arguments(void) { return arguments; }

void clinux_default_ignored_signals(void) {
    for (int signal = 1; signal <= SIGRTMAX; signal++) {
        struct sigaction action;
        // Those that glibc keeps to itself are refused.
        if (sigaction(signal, NULL, &action) < 0 || action.sa_flags & SA_SIGINFO || action.sa_handler != SIG_IGN)
            continue;
        action.sa_handler = SIG_DFL;
        action.sa_flags = 0;
        sigaction(signal, &action, NULL);
    }
    clinux_dispositions_changed();
}

static void *wait_for_all(void *barrier) {
    while (sem_wait(barrier) < 0) {}
    return NULL;
}

int clinux_threads_to_be_had(int count) {
    pthread_t threads[CLINUX_MOST_THREADS];
    if (count > CLINUX_MOST_THREADS) count = CLINUX_MOST_THREADS;
    sem_t barrier;
    sem_init(&barrier, 0, 0);
    // A stack of the usual size takes longer to make than the thread.
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 128 << 10);
    int started = 0;
    while (started < count && pthread_create(&threads[started], &attributes, wait_for_all, &barrier) == 0) started++;
    pthread_attr_destroy(&attributes);
    for (int i = 0; i < started; i++) sem_post(&barrier);
    for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
    sem_destroy(&barrier);
    return started;
}

ssize_t clinux_getdents(int folder, void *buffer, size_t size) { return getdents64(folder, buffer, size); }

int clinux_inotify_add(int inotify, int descriptor, unsigned mask) {
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    return inotify_add_watch(inotify, path, mask);
}

long clinux_file_system_type(const char *path) {
    struct statfs status;
    return statfs(path, &status) == 0 ? (long)status.f_type : -1;
}

long clinux_file_system_type_of(int descriptor) {
    struct statfs status;
    return fstatfs(descriptor, &status) == 0 ? (long)status.f_type : -1;
}

int clinux_chmod_place(int descriptor, unsigned mode) {
    if (fchmod(descriptor, (mode_t)mode) == 0) return 0;
    if (errno != EBADF) return -1;
    // O_PATH: fchmodat2(2) is there since Linux 6.6, and unknown to older filters of system calls.
    if (syscall(452, descriptor, "", mode, AT_EMPTY_PATH) == 0) return 0;
    if (errno != ENOSYS && errno != EPERM) return -1;
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    return chmod(path, (mode_t)mode);
}

int clinux_chown_place(int descriptor, unsigned user, unsigned group) {
    return fchownat(descriptor, "", user, group, AT_EMPTY_PATH);
}

int clinux_pipe2(int ends[2], int flags) { return pipe2(ends, flags); }

ssize_t clinux_tee(int from, int to, size_t limit) { return tee(from, to, limit, SPLICE_F_NONBLOCK); }

int clinux_accept4(int socket, int flags) { return accept4(socket, NULL, NULL, flags); }

int clinux_netlink(int family, unsigned groups) {
    int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, family);
    if (descriptor < 0) return -1;
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = groups};
    if (bind(descriptor, (struct sockaddr *)&address, sizeof address) == 0) return descriptor;
    int error = errno;
    close(descriptor);
    errno = error;
    return -1;
}

int clinux_mq_open(const char *name) { return (int)mq_open(name, O_RDWR | O_NONBLOCK | O_CLOEXEC); }

int clinux_mq_make(const char *name, unsigned mode) {
    return (int)mq_open(name, O_RDWR | O_CREAT | O_EXCL | O_NONBLOCK | O_CLOEXEC, (mode_t)mode, NULL);
}

int clinux_mq_unlink(const char *name) { return mq_unlink(name); }

long clinux_mq_message_size(int queue) {
    struct mq_attr attributes;
    return mq_getattr((mqd_t)queue, &attributes) < 0 ? -1 : attributes.mq_msgsize;
}

ssize_t clinux_mq_receive(int queue, char *buffer, size_t size) {
    return mq_receive((mqd_t)queue, buffer, size, NULL);
}

int clinux_memfd_create(const char *name) { return memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING); }

int clinux_peer_credentials(int socket, int *pid, unsigned *uid, unsigned *gid) {
    struct ucred peer = {0};
    socklen_t size = sizeof peer;
    int result = getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size);
    *pid = peer.pid;
    *uid = peer.uid;
    *gid = peer.gid;
    return result;
}

int clinux_processor_count(void) {
    // The kernel refuses a set smaller than its own count of possible processors.
    for (int possible = CPU_SETSIZE; possible <= 64 * CPU_SETSIZE; possible *= 4) {
        cpu_set_t *set = CPU_ALLOC(possible);
        if (!set) break;
        size_t size = CPU_ALLOC_SIZE(possible);
        int result = sched_getaffinity(0, size, set);
        int count = result == 0 ? CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (result == 0) return count > 0 ? count : 1;
        if (errno != EINVAL) break;
    }
    return 1;
}

int clinux_is_delegated(const char *path) {
    // The first is for root to read, the second (systemd 251) for everybody.
    const char *const names[] = {"trusted.delegate", "user.delegate"};
    for (int i = 0; i < 2; i++) {
        char value[8];
        if (getxattr(path, names[i], value, sizeof value) >= 1 && value[0] == '1') return 1;
    }
    return 0;
}

int64_t clinux_birth_time(int descriptor) {
    struct statx status;
    if (statx(descriptor, "", AT_EMPTY_PATH, STATX_BTIME, &status) || !(status.stx_mask & STATX_BTIME)) return 0;
    return status.stx_btime.tv_sec * INT64_C(1000000000) + status.stx_btime.tv_nsec;
}

int clinux_is_mount_point(const char *path) {
    struct statx status;
    if (statx(AT_FDCWD, path, AT_NO_AUTOMOUNT, STATX_TYPE, &status)) return -1;
    return (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

int clinux_ask(const char *path) {
    struct statx status;
    return statx(AT_FDCWD, path, AT_STATX_FORCE_SYNC, STATX_TYPE | STATX_MODE, &status);
}

int clinux_set_thread_name(const char *name) { return prctl(PR_SET_NAME, name); }

int clinux_io_priority(void) { return (int)syscall(SYS_ioprio_get, 1, 0); } // IOPRIO_WHO_PROCESS

void clinux_limit_arenas(int count) { mallopt(M_ARENA_MAX, count); }

size_t clinux_allocated_bytes(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

void clinux_trim_memory(void) { malloc_trim(0); }

static int unmap_code_of(struct dl_phdr_info *object, size_t size, void *nothing) {
    (void)size, (void)nothing;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
    for (int index = 0; index < object->dlpi_phnum; index++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[index];
        // What is written at the start (PT_GNU_RELRO) lies in a writable segment.
        if (segment->p_type != PT_LOAD || segment->p_flags & PF_W) continue;
        uintptr_t begin = object->dlpi_addr + segment->p_vaddr;
        madvise((void *)(begin & ~page), segment->p_memsz + (begin & page), MADV_DONTNEED);
    }
    return 0;
}

void clinux_unmap_code(void) { dl_iterate_phdr(unmap_code_of, NULL); }

int clinux_pidfd_open(int pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }

int clinux_pidfd_send_signal(int pidfd, int signal) {
    return (int)syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0);
}

int clinux_waitid_pidfd(int pidfd, int options, int *code, int *status) {
    siginfo_t info;
    memset(&info, 0, sizeof info); // with WNOHANG and nothing to tell, the kernel may leave it alone
    int result = waitid(P_PIDFD, (id_t)pidfd, &info, options);
    *code = info.si_pid == 0 ? 0 : info.si_code;
    *status = info.si_pid == 0 ? 0 : info.si_status;
    return result;
}

int clinux_reap_pidfd(int pidfd, int *code, int *status, struct clinux_usage *used) {
    siginfo_t info;
    struct rusage usage;
    memset(&info, 0, sizeof info);
    memset(&usage, 0, sizeof usage);
    // glibc's waitid(3) lacks the fifth argument.
    int result = (int)syscall(SYS_waitid, P_PIDFD, pidfd, &info, WEXITED | WNOHANG, &usage);
    *code = info.si_pid == 0 ? 0 : info.si_code;
    *status = info.si_pid == 0 ? 0 : info.si_status;
    // The high-water mark of the memory that a child leaves by execve(2) counts as its own, and that memory was ours: a
    // number that is not well above our own says nothing. Counts of pages lag behind by some hundred KiB.
    struct rusage own;
    const int64_t slack = 1024;
    if (getrusage(RUSAGE_SELF, &own) != 0 || usage.ru_maxrss <= own.ru_maxrss + slack) usage.ru_maxrss = 0;
    const uint64_t second = 1000000, block = 512;
    *used = (struct clinux_usage){
        .processor_usec = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * second
            + (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec),
        .peak_memory = (uint64_t)usage.ru_maxrss * 1024,
        .read = (uint64_t)usage.ru_inblock * block,
        .written = (uint64_t)usage.ru_oublock * block,
    };
    return result;
}

ssize_t clinux_receive_credentials(int socket, void *bytes, size_t count, int32_t *pid, uint32_t *user) {
    union {
        struct cmsghdr header;
        // Descriptors that somebody sends along are closed by the kernel: there is no room for them.
        char space[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct iovec part = {.iov_base = bytes, .iov_len = count};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
    *pid = 0;
    *user = 0;
    ssize_t length = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (length < 0) return length;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header != NULL; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_CREDENTIALS) {
            struct ucred sender;
            memcpy(&sender, CMSG_DATA(header), sizeof sender);
            *pid = sender.pid;
            *user = sender.uid;
        }
    }
    return length;
}

int clinux_pidfd_get_info(int pidfd, struct clinux_pidfd_info *info) {
    _Static_assert(sizeof(struct clinux_pidfd_info) == 64, "the first version of struct pidfd_info");
    return ioctl(pidfd, _IOWR(0xFF, 11, struct clinux_pidfd_info), info);
}
