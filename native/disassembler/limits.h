#ifndef KERNLENS_DISASSEMBLER_LIMITS_H
#define KERNLENS_DISASSEMBLER_LIMITS_H

#include <stdint.h>

/* The offset of the instruction that LLVM reads now. */
extern uint32_t crash_offset;

/* Limits the memory, and has the process end where LLVM crashes, with a line of standard error that says where; and by SIGPROF,
 * the timer of its processor time, whatever the process that started it does with these signals. */
void limit_process(void);

#endif
