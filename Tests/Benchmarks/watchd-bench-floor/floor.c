// The floor of the latency benchmark: the least that a program by hand needs from an event to a command.
//
//   watchd-bench-floor path FOLDER HANDLER FIFO           a file in FOLDER was closed after writing
//   watchd-bench-floor fifo PATH HANDLER FIFO             something was written into the FIFO at PATH
//   watchd-bench-floor signal NUMBER HANDLER FIFO         the signal came
//   watchd-bench-floor exit FILE HANDLER FIFO             the process named in FILE has ended
//   watchd-bench-floor tree FOLDER FILE                  watches FOLDER and all below it, and writes a line into FILE for
//                                                         each file that is closed after writing there
//   watchd-bench-floor timer USEC,PHASE HANDLER FIFO      CLOCK_BOOTTIME is PHASE past a multiple of USEC (µs)
//
//   watchd-bench-floor spawn COUNT,WIDTH HANDLER FIFO     at once: so many runs of HANDLER, so many beside each other
//
// One epoll set; for each event a pipe for the handler's output and a posix_spawn (CLONE_VM | CLONE_VFORK in glibc) of
// HANDLER with FIFO as its argument; the output is read and thrown away, the process waited for. Nothing else: no
// message, no environment, no log, no queue, no limit.
//
//   watchd-bench-floor lines FIFO                         reads a FIFO and looks for the ends of its lines
//   watchd-bench-floor pipe FIFO HANDLER REPORT COUNT     what comes out of FIFO goes to HANDLER --count REPORT COUNT
//   watchd-bench-floor delegate CGROUP PROGRAM ARGUMENT…  becomes PROGRAM, in a new cgroup that is delegated to it
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

enum role { SOURCE, PID_FILE, WATCHED, OUTPUT, CHILD };

static int epoll;
static char *handler;
static char *report;
// Runs of `spawn` that have not been started.
static long left;

static int check(int result, const char *what) {
    if (result < 0) {
        perror(what);
        exit(1);
    }
    return result;
}

static void watch(int descriptor, enum role role) {
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = (uint64_t)role << 32 | (uint32_t)descriptor};
    check(epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event), "epoll_ctl");
}

static int pidfd_of(int process) { return (int)syscall(SYS_pidfd_open, process, 0); }

static void start(void) {
    int output[2];
    check(pipe2(output, O_CLOEXEC), "pipe2");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, output[1], 1);
    posix_spawn_file_actions_adddup2(&actions, output[1], 2);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    char *arguments[] = {handler, report, NULL};
    char *environment[] = {NULL};
    pid_t process;
    if (posix_spawn(&process, handler, &actions, &attributes, arguments, environment) != 0) {
        fprintf(stderr, "cannot start %s\n", handler);
        exit(1);
    }
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(output[1]);
    watch(output[0], OUTPUT);
    watch(check(pidfd_of(process), "pidfd_open"), CHILD);
}

// The process that the pid file names now.
static void look(const char *file) {
    FILE *stream = fopen(file, "re");
    int process = 0;
    if (!stream) return;
    if (fscanf(stream, "%d", &process) == 1) {
        int descriptor = pidfd_of(process);
        if (descriptor >= 0) watch(descriptor, WATCHED);
    }
    fclose(stream);
}

static void turn(enum role role, int descriptor, const char *target) {
    char buffer[65536];
    ssize_t count = 0;
    if (role != CHILD && role != WATCHED) count = read(descriptor, buffer, sizeof buffer);
    switch (role) {
    case SOURCE: if (count > 0) start(); return;
    case PID_FILE: look(target); return;
    case OUTPUT: if (count > 0) return; break;
    case WATCHED: break;
    case CHILD: {
        siginfo_t info;
        waitid(P_PIDFD, (id_t)descriptor, &info, WEXITED);
        break;
    }
    }
    // A child that is just being started may still have a copy, so closing alone does not take it out of the set.
    epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, NULL);
    close(descriptor);
    if (role == WATCHED) start();
    if (role == CHILD && left > 0) {
        left--;
        start();
    }
}

static int open_inotify(const char *folder) {
    int inotify = check(inotify_init1(IN_CLOEXEC | IN_NONBLOCK), "inotify_init1");
    check(inotify_add_watch(inotify, folder, IN_CLOSE_WRITE), folder);
    return inotify;
}

static int open_signal(int number) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return check(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), "signalfd");
}

static int open_timer(const char *target) {
    long long period = 0, phase = 0;
    if (sscanf(target, "%lld,%lld", &period, &phase) != 2 || period <= 0) exit(2);
    int timer = check(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK), "timerfd_create");
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    long long next = (((long long)now.tv_sec * 1000000 + now.tv_nsec / 1000) / period + 1) * period + phase;
    struct itimerspec setting = {
        .it_value = {next / 1000000, next % 1000000 * 1000},
        .it_interval = {period / 1000000, period % 1000000 * 1000},
    };
    check(timerfd_settime(timer, TFD_TIMER_ABSTIME, &setting, NULL), "timerfd_settime");
    return timer;
}

static void start_many(const char *target) {
    long width = 0;
    if (sscanf(target, "%ld,%ld", &left, &width) != 2) exit(2);
    for (; width > 0 && left > 0; width--, left--) start();
}

static void open_source(const char *kind, const char *target) {
    if (strcmp(kind, "path") == 0) {
        watch(open_inotify(target), SOURCE);
    } else if (strcmp(kind, "fifo") == 0) {
        watch(check(open(target, O_RDONLY | O_NONBLOCK | O_CLOEXEC), target), SOURCE);
    } else if (strcmp(kind, "signal") == 0) {
        watch(open_signal(atoi(target)), SOURCE);
    } else if (strcmp(kind, "exit") == 0) {
        watch(open_inotify(target), PID_FILE);
    } else if (strcmp(kind, "timer") == 0) {
        watch(open_timer(target), SOURCE);
    } else if (strcmp(kind, "spawn") != 0) {
        exit(2);
    }
}

// As sd_notify(3) does.
static void say_ready(void) {
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!path || strlen(path) >= sizeof address.sun_path) return;
    strcpy(address.sun_path, path);
    int notify = check(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket");
    sendto(notify, "READY=1", 7, 0, (struct sockaddr *)&address, sizeof address);
    close(notify);
}

// `lines FIFO`: reads a FIFO and looks for the ends of its lines, for ever.
static _Noreturn void count_lines(const char *path) {
    static char buffer[64 * 1024];
    static unsigned long lines;
    epoll = check(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
    int fifo = check(open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), path);
    struct epoll_event event = {.events = EPOLLIN};
    check(epoll_ctl(epoll, EPOLL_CTL_ADD, fifo, &event), "epoll_ctl");
    for (;;) {
        epoll_wait(epoll, &event, 1, -1);
        for (ssize_t size; (size = read(fifo, buffer, sizeof buffer)) > 0;)
            for (char *next = buffer; (next = memchr(next, '\n', (size_t)(buffer + size - next))); next++) lines++;
    }
}

static _Noreturn void pipe_lines(const char *path, char **arguments) {
    static char buffer[64 * 1024];
    int ends[2];
    check(pipe2(ends, O_CLOEXEC), "pipe2");
    // For writing too, so that it never hangs up.
    int fifo = check(open(path, O_RDWR | O_CLOEXEC), path);
    char *words[] = {arguments[0], "--count", arguments[1], arguments[2], NULL};
    char *environment[] = {NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[0], 0);
    pid_t process;
    if (posix_spawn(&process, words[0], &actions, NULL, words, environment) != 0) exit(1);
    close(ends[0]);
    say_ready();
    for (;;) {
        ssize_t size = check((int)read(fifo, buffer, sizeof buffer), "read");
        for (ssize_t done = 0; done < size;)
            done += check((int)write(ends[1], buffer + done, (size_t)(size - done)), "write");
    }
}

static _Noreturn void delegate(const char *group, char **program) {
    char path[4096], number[32];
    check(mkdir(group, 0755), group);
    // As systemd marks it.
    check(setxattr(group, "user.delegate", "1", 1, 0), "setxattr");
    snprintf(path, sizeof path, "%s/cgroup.procs", group);
    int file = check(open(path, O_WRONLY | O_CLOEXEC), path);
    int size = snprintf(number, sizeof number, "%d\n", getpid());
    check((int)write(file, number, (size_t)size), path);
    execv(program[0], program);
    perror(program[0]);
    exit(1);
}

// A folder and all below it: its own watch first, then its entries. `path` has its name of `length` bytes.
static void watch_tree(int inotify, int above, const char *name, char *path, size_t length) {
    inotify_add_watch(inotify, path, IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVE);
    int folder = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0) return;
    char entries[32768];
    for (long size; (size = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0;) {
        for (long at = 0; at < size;) {
            struct dirent64 *entry = (struct dirent64 *)(entries + at);
            at += entry->d_reclen;
            if (entry->d_type != DT_DIR || strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
            size_t added = strlen(entry->d_name) + 1;
            if (length + added >= 4096) continue;
            path[length] = '/';
            strcpy(path + length + 1, entry->d_name);
            watch_tree(inotify, folder, entry->d_name, path, length + added);
            path[length] = 0;
        }
    }
    close(folder);
}

// `tree FOLDER FILE`, for ever.
static _Noreturn void tell_files(const char *folder, const char *told) {
    static char path[4096];
    static char events[65536] __attribute__((aligned(8)));
    static char lines[2 * sizeof events];
    strncpy(path, folder, sizeof path - 1);
    epoll = check(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
    int inotify = check(inotify_init1(IN_CLOEXEC | IN_NONBLOCK), "inotify_init1");
    int file = check(open(told, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600), told);
    watch(inotify, SOURCE);
    watch_tree(inotify, AT_FDCWD, folder, path, strlen(path));
    say_ready();
    for (;;) {
        struct epoll_event event;
        epoll_wait(epoll, &event, 1, -1);
        for (ssize_t size; (size = read(inotify, events, sizeof events)) > 0;) {
            size_t filled = 0;
            for (ssize_t at = 0; at < size;) {
                struct inotify_event *next = (struct inotify_event *)(events + at);
                at += (ssize_t)(sizeof *next + next->len);
                if (next->mask & IN_CLOSE_WRITE && next->len) filled += (size_t)sprintf(lines + filled, "%s\n", next->name);
            }
            if (filled && write(file, lines, filled) < 0) exit(1);
        }
    }
}

int main(int count, char **arguments) {
    if (count == 6 && strcmp(arguments[1], "pipe") == 0) pipe_lines(arguments[2], arguments + 3);
    if (count > 3 && strcmp(arguments[1], "delegate") == 0) delegate(arguments[2], arguments + 3);
    if (count == 4 && strcmp(arguments[1], "tree") == 0) tell_files(arguments[2], arguments[3]);
    if (count == 3 && strcmp(arguments[1], "lines") == 0) count_lines(arguments[2]);
    if (count != 5) return 2;
    const char *target = arguments[2];
    handler = arguments[3];
    report = arguments[4];
    epoll = check(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
    open_source(arguments[1], target);
    say_ready();
    if (strcmp(arguments[1], "spawn") == 0) start_many(target);
    for (;;) {
        struct epoll_event events[16];
        int ready = epoll_wait(epoll, events, 16, -1);
        for (int i = 0; i < ready; i++)
            turn((enum role)(events[i].data.u64 >> 32), (int)(uint32_t)events[i].data.u64, target);
    }
}
