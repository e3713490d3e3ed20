#ifndef CINSTRUCTIONS_H
#define CINSTRUCTIONS_H

#include <stdint.h>

/// perf_event_open(2): a descriptor that counts the instructions of this program in user space, of threads that come
/// later too. -1 and errno: refused, or the processor has no counter (as in many virtual machines).
int cinstructions_open(void);

/// The count; -1: it cannot be read.
int64_t cinstructions_read(int descriptor);

/// Does nothing: callgrind looks for its name (`--dump-before`).
void cinstructions_mark(void);

#endif
