#ifndef KERNLENS_DISASSEMBLER_CONFINE_H
#define KERNLENS_DISASSEMBLER_CONFINE_H

/* From now on the kernel refuses this process every call but those that read and write open files, and manage its own memory. A
 * kernel without seccomp refuses nothing. */
void confine_to_pipes(void);

#endif
