/* The dynamic loader by whose name this process was started, if it was: `LOADER --library-path FOLDERS PROGRAM`. That is how a
 * program runs with another C library and another driver than the machine's; what it starts must be started likewise. */
#ifndef KERNLENS_NAMED_LOADER_H
#define KERNLENS_NAMED_LOADER_H

struct named_loader {
    char *path;    /* NULL: the process was started as usual */
    char *folders; /* of --library-path; may be NULL */
};

struct named_loader named_loader_find(void);
void named_loader_free(struct named_loader *loader);

#endif
