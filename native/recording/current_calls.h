/* The calls of the driver that the process is in, as memory of a file: what it was doing when something ended it. */
#ifndef KERNLENS_CURRENT_CALLS_H
#define KERNLENS_CURRENT_CALLS_H

#include <stdatomic.h>

enum { CALL_NAME = 48 };

/* One call of one thread, as the file has it; free while `busy` is 0. */
struct current_call;

/* Notes that this thread is in the function of this name, of CALL_NAME bytes with zeros at their end. Returns what call_left takes;
 * NULL if it cannot be noted. Without a lock. */
struct current_call *call_entered(const char *name);
/* Notes that the function has returned. */
void call_left(struct current_call *call);
/* Has forks looked after. For a loading layer. */
void calls_watch(void);

/* The expression's value, which calls the function of this name. */
#define NOTED(called, expression)                                                                                    \
    __extension__({                                                                                                  \
        static const char CALLED[CALL_NAME] = called;                                                                \
        struct current_call *current = call_entered(CALLED);                                                         \
        __typeof__(expression) answer = (expression);                                                                \
        call_left(current);                                                                                          \
        answer;                                                                                                      \
    })

#endif
