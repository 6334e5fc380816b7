/* Why a snapshot could not be made: told to the user, never to the application. */
#ifndef KERNLENS_PROBLEMS_H
#define KERNLENS_PROBLEMS_H

/* One line, on standard error or at the end of the file that KERNLENS_SNAPSHOT_LOG names. */
void problem(const char *stage, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
