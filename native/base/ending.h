/* The end of the process, at which drivers are still asked for something. */
#ifndef KERNLENS_ENDING_H
#define KERNLENS_ENDING_H

/* Calls the function in a thread of its own, and waits for it. Drivers may keep what each call needs in the calling thread's storage, which
 * the thread that ends the process has lost before functions of atexit run: Oclgrind writes to freed memory then. If no thread can be
 * started, it is not called. */
void in_other_thread(void (*function)(void));

#endif
