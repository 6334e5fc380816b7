/* The folder into which this process's own compiler writes while it keeps a stage. */
#ifndef KERNLENS_KEPT_FOLDER_H
#define KERNLENS_KEPT_FOLDER_H

/* Names it: always the same, as compilers keep the name that they got first. The folder exists during such a build only. NULL
 * if it has no name, which is so in forked children: their compilers know the parent's, which they must not use. */
const char *kept_folder(void);

#endif
