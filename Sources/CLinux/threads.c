// Dispatch asks for a thread when there is work for one. Where none can be made (RLIMIT_NPROC, pids.max), it sleeps and
// tries again, in the thread that has brought the work: nobody else's work would be done meanwhile, nobody answered
// (libdispatch, _dispatch_root_queue_poke_slow). So pthread_create(3) is replaced for the whole program: a thread that
// cannot be made now is owed instead, and a thread that there is does its work.
#define _GNU_SOURCE
#include "CLinux.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

typedef int make_thread(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

struct owed_thread {
    struct owed_thread *next;
    void *(*start)(void *);
    void *argument;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct owed_thread *first, **end = &first;
static _Atomic int owed;
static _Atomic int notice = -1;

static make_thread *real_pthread_create(void) {
    static _Atomic(make_thread *) found;
    make_thread *function = found;
    if (!function) found = function = (make_thread *)dlsym(RTLD_NEXT, "pthread_create");
    return function;
}

static struct owed_thread *take(void) {
    pthread_mutex_lock(&lock);
    struct owed_thread *thread = first;
    if (thread) {
        first = thread->next;
        if (!first) end = &first;
        owed--;
    }
    pthread_mutex_unlock(&lock);
    return thread;
}

static void give_back(struct owed_thread *thread) {
    pthread_mutex_lock(&lock);
    thread->next = first;
    if (!first) end = &thread->next;
    first = thread;
    owed++;
    pthread_mutex_unlock(&lock);
}

static int owe(void *(*start)(void *), void *argument) {
    struct owed_thread *thread = malloc(sizeof *thread);
    if (!thread) return EAGAIN;
    *thread = (struct owed_thread){NULL, start, argument};
    pthread_mutex_lock(&lock);
    *end = thread;
    end = &thread->next;
    owed++;
    pthread_mutex_unlock(&lock);
    eventfd_write(notice, 1);
    return 0;
}

/// Only for detached threads: nobody asks for their end.
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument) {
    int result = real_pthread_create()(thread, attributes, start, argument);
    int state = PTHREAD_CREATE_JOINABLE;
    if (result != EAGAIN || notice < 0 || !attributes || pthread_attr_getdetachstate(attributes, &state) != 0 ||
        state != PTHREAD_CREATE_DETACHED)
        return result;
    *thread = pthread_self();
    return owe(start, argument);
}

void clinux_owe_threads(int descriptor) { notice = descriptor; }

int clinux_make_owed_threads(void) {
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    struct owed_thread *thread;
    while ((thread = take())) {
        pthread_t number;
        if (real_pthread_create()(&number, &detached, thread->start, thread->argument) != 0) {
            give_back(thread);
            break;
        }
        free(thread);
    }
    pthread_attr_destroy(&detached);
    return owed;
}

int clinux_owed_threads(void) { return owed; }

void clinux_be_owed_thread(void) {
    struct owed_thread *thread = take();
    if (!thread) return;
    struct owed_thread work = *thread;
    free(thread);
    char name[16];
    int has_name = pthread_getname_np(pthread_self(), name, sizeof name) == 0;
    work.start(work.argument);
    if (has_name) pthread_setname_np(pthread_self(), name);
}

struct work {
    void (*run)(void *);
    void *context;
};

static void *run_work(void *argument) {
    struct work work = *(struct work *)argument;
    free(argument);
    work.run(work.context);
    return NULL;
}

int clinux_start_thread(void (*run)(void *), void *context) {
    struct work *work = malloc(sizeof *work);
    if (!work) return -1;
    *work = (struct work){run, context};
    pthread_t thread;
    int result = pthread_create(&thread, NULL, run_work, work);
    if (result == 0) return pthread_detach(thread);
    free(work);
    errno = result;
    return -1;
}
