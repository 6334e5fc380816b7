/* Processes, so that one can be told from a later one of the same number. */
#ifndef KERNLENS_PROCESSES_H
#define KERNLENS_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>

struct process {
    uint32_t space;  /* what its number is valid in: its namespace (pid_namespaces(7)); 0 if that is not known */
    uint32_t number; /* the process's */
    uint64_t start;  /* when it started, in clock ticks since the machine did; 0 if that is not known */
};

/* Describes this process. */
struct process process_self(void);
/* Tells whether that process has certainly ended. */
bool process_has_ended(const struct process *process);

#endif
