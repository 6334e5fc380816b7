/* The dynamic loader that this process was started with by name, if it was: `LOADER --library-path FOLDERS PROGRAM`. That is how a
 * program runs with another C library and another driver than the machine's own; what it starts must be started likewise. */
#ifndef KERNLENS_OWN_LOADER_H
#define KERNLENS_OWN_LOADER_H

struct own_loader {
    char *path;    /* NULL: the process was started as usual */
    char *folders; /* of --library-path; may be NULL */
};

struct own_loader own_loader(void);
void own_loader_free(struct own_loader *loader);

#endif
