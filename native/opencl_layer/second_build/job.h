/* What a second build gets from the application's process.
 *
 * A job is made of numbers, texts and blocks (base/bytes.h), in this order: the operation; whether to ask for the program's
 * binary; whether there are build options, and these; the number of programs; and each program: its form, its bytes, the number of its specialization
 * constants, and of each the identifier and the value. */
#ifndef KERNLENS_JOB_H
#define KERNLENS_JOB_H

#include "base/bytes.h"

enum job_operation {
    JOB_BUILD = 1, /* clBuildProgram of one program */
    JOB_LINK,      /* clLinkProgram of compiled ones */
};

enum program_form { FORM_SOURCE = 1, FORM_IL, FORM_BINARY };

struct job {
    enum job_operation operation;
    bool queries_binary; /* for compilers that compile kernels only then */
    const char *options; /* NULL: none, which some compilers tell from empty ones */
    uint64_t count; /* of programs */
};

struct job_program {
    enum program_form form;
    struct view bytes;
    uint64_t constant_count;
};

struct job_constant {
    uint32_t identifier;
    struct view value;
};

void job_write(struct writer *writer, const struct job *job);
void job_write_program(struct writer *writer, const struct job_program *program);
void job_write_constant(struct writer *writer, const struct job_constant *constant);

/* Read what was written; if `failed` is set afterwards, the job is damaged. */
struct job job_read(struct reader *reader);
struct job_program job_read_program(struct reader *reader);
struct job_constant job_read_constant(struct reader *reader);

/* The file descriptors that the second build's process starts with. */
enum {
    JOB_SOCKET = 3, /* one byte comes when the job is written; the answer goes back: a text, empty if all went
                       * well; and at last, or alone, the number that waitpid(2) gave of the process that worked */
    JOB_FILE = 4,   /* the job */
};

/* The file of the folder that holds the program's binary, if it was asked for. */
#define JOB_BINARY "program.binary"

/* Its arguments. */
enum {
    ARGUMENT_DRIVER = 1, /* the path of the platform's library */
    ARGUMENT_PLATFORM,   /* the platform's name */
    ARGUMENT_DEVICE,     /* the device's place among all devices of the platform */
    ARGUMENT_FOLDER,     /* the folder of the snapshot, removed if the application ends first */
    ARGUMENTS,
};

#endif
