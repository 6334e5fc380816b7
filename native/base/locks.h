/* Every lock of the layer, so that a fork at any moment leaves none behind that nobody gives back.
 *
 * A child process has one thread, and gets the locks as they stand, those of its parent's other threads included. So a fork
 * first takes all short locks, in the order below: the child then gets what they guard as it is between two changes. No other
 * file has locks, or handlers of forks (tests/unit/native/test_native_locks.py). */
#ifndef KERNLENS_LOCKS_H
#define KERNLENS_LOCKS_H

#include <stdbool.h>

/* In the order in which a thread may hold several. Nothing waits for anything but a later one of these while it holds one. */
enum lock {
    LOCK_DRIVERS,   /* which drivers are open, and for which loader; held while they are opened */
    LOCK_PROGRAMS,  /* what is known of living programs */
    LOCK_RECORDER,  /* what a capture knows of programs and kernels, and its counters */
    LOCK_PLATFORMS, /* the platforms' own functions */
    LOCK_MEMORY,    /* what is known of living images and buffers */
    LOCK_SETTINGS,  /* of the IGC library in this process */
    LOCK_START,     /* of a child: its end of a socket or pipe is open here meanwhile, and must be in no child */
    LOCK_LOADER,    /* held around calls into the dynamic loader, whose own locks a fork does not look after (loader.h) */
    LOCKS
};

void lock_take(enum lock lock);
void lock_give(enum lock lock);

/* Has each child process call this, with no lock held, before its fork returns. `damaged` tells of a lock whether what it
 * guards is in the middle of a change; that is so only if a signal's handler that forks interrupted the thread that makes it,
 * or if that thread held it for longer than a fork waits. For constructors. */
void forks_watch(void (*in_child)(bool (*damaged)(enum lock lock)));

/* The lock of builds is held for as long as those take, by one thread alone or shared by several. Forks do not wait for it: a
 * child has it as its own thread had. A thread that shares it may share it again. */
void builds_share(void);
void builds_unshare(void);
/* Takes it alone; false if it is held. */
bool builds_take_alone(void);
void builds_give_alone(void);

/* A driver that does one thing after the other has its callers take turns, for as long as kernels run. A thread may take it again; forks
 * do not wait for it: a child has it as its own thread had. */
void turn_take(void);
void turn_give(void);

#endif
