/* What a second build gets from the application's process: numbers, texts and blocks of bytes.h, in this order:
 * the operation; whether to ask for the program's binary; the build options; the number of programs; and each program: its
 * form, its bytes, the number of its specialization constants, and of each the identifier and the value. */
#ifndef KERNLENS_JOB_H
#define KERNLENS_JOB_H

enum job_operation {
    JOB_BUILD = 1, /* clBuildProgram of one program */
    JOB_LINK,      /* clLinkProgram of compiled ones */
};

enum program_form { FORM_SOURCE = 1, FORM_IL, FORM_BINARY };

/* The file descriptors that the second build's process starts with. */
enum {
    JOB_SOCKET = 3, /* one byte comes when the job is written; the answer goes back: a status and a text */
    JOB_FILE = 4,   /* the job */
};

/* Its arguments. */
enum {
    ARGUMENT_DRIVER = 1, /* the path of the platform's library */
    ARGUMENT_PLATFORM,   /* the platform's name */
    ARGUMENT_DEVICE,     /* the device's place among all devices of the platform */
    ARGUMENT_FOLDER,     /* the folder of the snapshot, removed if the application ends first */
    ARGUMENTS,
};

#endif
