/* Problems: why a snapshot could not be made. The user hears of them, the application never. */
#ifndef KERNLENS_PROBLEMS_H
#define KERNLENS_PROBLEMS_H

/* Writes one line to standard error, or to the end of the file that KERNLENS_SNAPSHOT_LOG names. */
void problem(const char *stage, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
