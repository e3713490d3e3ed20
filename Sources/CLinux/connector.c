// The kernel's process connector: netlink messages of what every process does (CONFIG_PROC_EVENTS).
#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <limits.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// Newer headers number the events in an enum of another name.
enum {
    EVENT_NONE = 0,
    EVENT_FORK = 1,
    EVENT_EXEC = 2,
    EVENT_COREDUMP = 0x40000000,
};
static const unsigned EVENT_EXIT = 0x80000000u;

static int subscribe(int socket) {
    const enum proc_cn_mcast_op operation = PROC_CN_MCAST_LISTEN;
    struct cn_msg message = {.id = {.idx = CN_IDX_PROC, .val = CN_VAL_PROC}, .len = sizeof operation};
    struct nlmsghdr header = {.nlmsg_type = NLMSG_DONE, .nlmsg_pid = (unsigned)getpid()};
    char request[NLMSG_SPACE(sizeof message + sizeof operation)] = {0};
    header.nlmsg_len = NLMSG_LENGTH(sizeof message + sizeof operation);
    memcpy(request, &header, sizeof header);
    memcpy(request + NLMSG_HDRLEN, &message, sizeof message);
    memcpy(request + NLMSG_HDRLEN + sizeof message, &operation, sizeof operation);
    return send(socket, request, header.nlmsg_len, 0) < 0 ? -1 : 0;
}

int clinux_process_connector(int buffer) {
    int socket_ = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_CONNECTOR);
    if (socket_ < 0) return -1;
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC};
    if (setsockopt(socket_, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof buffer) < 0)
        setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
    if (bind(socket_, (struct sockaddr *)&address, sizeof address) == 0 && subscribe(socket_) == 0) return socket_;
    int error = errno;
    close(socket_);
    errno = error;
    return -1;
}

// 1: `event` is set; 0: nothing of interest. Its processor and number are set in any case.
static int take(const struct cn_msg *message, size_t length, struct clinux_process_event *event) {
    struct proc_event told;
    memset(&told, 0, sizeof told);
    memset(event, 0, sizeof *event);
    event->processor = UINT_MAX;
    if (length < sizeof *message || message->id.idx != CN_IDX_PROC || message->id.val != CN_VAL_PROC) return 0;
    size_t size = length - sizeof *message;
    memcpy(&told, message->data, size < sizeof told ? size : sizeof told);
    event->processor = told.cpu;
    event->number = message->seq;
    event->at = (int64_t)(told.timestamp_ns / 1000);
    switch ((unsigned)told.what) {
    case EVENT_NONE:
        event->kind = CLINUX_PROCESS_ACKNOWLEDGED;
        event->status = (int)told.event_data.ack.err;
        return 1;
    case EVENT_FORK: // threads are made in the same way
        event->kind = CLINUX_PROCESS_FORKED;
        event->process = told.event_data.fork.child_tgid;
        event->parent = told.event_data.fork.parent_tgid;
        return told.event_data.fork.child_pid == told.event_data.fork.child_tgid;
    case EVENT_EXEC:
        event->kind = CLINUX_PROCESS_EXECUTED;
        event->process = told.event_data.exec.process_tgid;
        return 1;
    case EVENT_COREDUMP:
        event->kind = CLINUX_PROCESS_DUMPED;
        event->process = told.event_data.coredump.process_tgid;
        return 1;
    default:
        if ((unsigned)told.what != EVENT_EXIT) return 0;
        event->kind = CLINUX_PROCESS_ENDED;
        event->process = told.event_data.exit.process_tgid;
        event->status = (int)told.event_data.exit.exit_code;
        return told.event_data.exit.process_pid == told.event_data.exit.process_tgid;
    }
}

int clinux_process_event(int socket, struct clinux_process_event *event) {
    for (;;) {
        char __attribute__((aligned(NLMSG_ALIGNTO))) buffer[1024];
        struct sockaddr_nl sender = {0};
        socklen_t size = sizeof sender;
        ssize_t length = recvfrom(socket, buffer, sizeof buffer, MSG_DONTWAIT, (struct sockaddr *)&sender, &size);
        if (length < 0) return -1;
        struct nlmsghdr *header = (struct nlmsghdr *)buffer;
        // Only what the kernel itself has sent.
        if (sender.nl_pid != 0 || !NLMSG_OK(header, (unsigned)length)) continue;
        if (header->nlmsg_type == NLMSG_ERROR || header->nlmsg_type == NLMSG_NOOP) continue;
        if (!take(NLMSG_DATA(header), header->nlmsg_len - NLMSG_HDRLEN, event)) event->kind = CLINUX_PROCESS_OTHER;
        return 0;
    }
}
