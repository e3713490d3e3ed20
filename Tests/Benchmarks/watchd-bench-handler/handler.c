// The handler of the benchmarks: a static program, so that what is measured is the way to it and not its dynamic linker.
//
//   watchd-bench-handler FIFO     writes the time at which its main began, then ends
//   watchd-bench-handler --wait   waits to be killed
//   watchd-bench-handler --count FIFO N [--ack]
//                                 reads lines, and writes the time when it has read N; with --ack it answers each
//
// The time (int64_t, CLOCK_MONOTONIC, ns) is taken before anything else, so that what comes after it does not count.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int tell(const char *path) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t time = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    int fifo = open(path, O_WRONLY | O_NONBLOCK);
    return fifo >= 0 && write(fifo, &time, sizeof time) == sizeof time ? 0 : 1;
}

static char answers[1024 * 1024];
static size_t answered;

static void send_answers(int descriptor) {
    for (size_t done = 0; done < answered;) {
        ssize_t size = write(descriptor, answers + done, answered - done);
        if (size < 0) _exit(1);
        done += (size_t)size;
    }
    answered = 0;
}

// The first id of a line is that of its operation.
static void answer(const char *line, size_t size, int descriptor) {
    const char *id = memmem(line, size, "\"id\":", 5);
    if (!id) return;
    id += 5;
    size_t digits = strspn(id, "0123456789");
    if (answered + digits + 32 > sizeof answers) send_answers(descriptor);
    answered += (size_t)sprintf(answers + answered, "{\"id\":%.*s,\"result\":\"ok\"}\n", (int)digits, id);
}

static int count_lines(const char *path, long wanted, int answers_each) {
    static char buffer[256 * 1024];
    const char *number = getenv("WATCHD_ACK_FD");
    int descriptor = number ? atoi(number) : -1;
    size_t held = 0;
    for (ssize_t size; (size = read(0, buffer + held, sizeof buffer - held)) > 0;) {
        char *end = buffer + held + size, *line = buffer;
        for (char *next; (next = memchr(line, '\n', (size_t)(end - line))); line = next + 1) {
            if (answers_each) answer(line, (size_t)(next - line), descriptor);
            if (--wanted == 0) tell(path);
        }
        if (answers_each) send_answers(descriptor);
        held = (size_t)(end - line);
        memmove(buffer, line, held);
    }
    return 0;
}

int main(int count, char **arguments) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (count >= 4 && strcmp(arguments[1], "--count") == 0)
        return count_lines(arguments[2], atol(arguments[3]), count == 5 && strcmp(arguments[4], "--ack") == 0);
    if (count != 2) return 2;
    if (strcmp(arguments[1], "--wait") == 0)
        for (;;) pause();
    // Not blocking: when nobody reads any more there is nobody to tell.
    int fifo = open(arguments[1], O_WRONLY | O_NONBLOCK);
    int64_t time = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    return fifo >= 0 && write(fifo, &time, sizeof time) == sizeof time ? 0 : 1;
}
