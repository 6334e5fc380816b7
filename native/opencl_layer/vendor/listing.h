/* Which drivers a loader lists, by the variables and files that it reads. */
#ifndef KERNLENS_LISTING_H
#define KERNLENS_LISTING_H

#include "base/files.h"

#include <stdbool.h>

/* What tells loaders apart: what their code says. ocl-icd `sorts` platforms, opens libraries lazily, takes a library for the folder of
 * vendors, and lists one twice that stands there twice; the others are Khronos's, of which CUDA's `joins` names without a slash. */
struct loader_rules {
    const void *loader; /* its code */
    bool sorts, joins, reads_names, reads_path, reads_home;
};

struct loader_rules rules_of(const void *loader);
/* Lists the libraries in the loader's order, as it would open them. */
void listing_read(const struct loader_rules *rules, struct file_names *libraries);
/* Lists those that the loader opens itself, beside the one that it was led to. */
void listing_read_others(const struct loader_rules *rules, struct file_names *libraries);

#endif
