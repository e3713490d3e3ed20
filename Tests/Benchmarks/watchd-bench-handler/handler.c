// The handler of the benchmarks: a static program, so that what is measured is the way to it and not its dynamic linker.
//
//   watchd-bench-handler FIFO     writes the time at which its main began, then ends
//   watchd-bench-handler --wait   waits to be killed
//
// The time (int64_t, CLOCK_MONOTONIC, ns) is taken before anything else, so that what comes after it does not count.
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int main(int count, char **arguments) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (count != 2) return 2;
    if (strcmp(arguments[1], "--wait") == 0)
        for (;;) pause();
    // Not blocking: when nobody reads any more there is nobody to tell.
    int fifo = open(arguments[1], O_WRONLY | O_NONBLOCK);
    int64_t time = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    return fifo >= 0 && write(fifo, &time, sizeof time) == sizeof time ? 0 : 1;
}
