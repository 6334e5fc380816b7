/* What is below this layer: the OpenCL functions, and what drivers tell of devices and programs. */
#ifndef KERNLENS_BELOW_H
#define KERNLENS_BELOW_H

#include "base/bytes.h"
#include "opencl_layer/compilers/stages.h"

#include <CL/cl.h>
#include <CL/cl_icd.h>

/* The drivers' functions (vendor/tables.h). Set once, before any OpenCL call; NULL before a loader asked for platforms. */
extern const cl_icd_dispatch *below;

/* Answers a query of the application with these bytes, as drivers do. */
cl_int info_answer(const void *value, size_t size, size_t room, void *value_ret, size_t *size_ret);

/* Writes the name of a device's platform; false if the driver does not tell. */
bool platform_name(cl_device_id device, char *name, size_t size);
/* Returns the device of a queue; NULL if the driver does not tell. */
cl_device_id queue_device(cl_command_queue queue);
/* Tells which compiler stands behind a device. */
const struct compiler *compiler_of(cl_device_id device);

/* A program's source or IL (with a zero byte after its end); NULL if it has none. Free it. */
char *program_source(cl_program program, size_t *size);
char *program_il(cl_program program, size_t *size);
/* Tells whether a question for the binary may end the process: program_binary does not ask it then. */
bool program_binary_may_abort(cl_program program);
/* Its binary for one device; NULL if it has none. Free it. */
unsigned char *program_binary(cl_program program, cl_device_id device, size_t *size);

/* The devices of a program (NULL if the driver does not say). Free them. */
cl_device_id *program_devices(cl_program program, size_t *count);

/* A part of a program, for each of its devices. */
struct program_parts {
    unsigned char *bytes;
    struct view *items; /* of `bytes`; empty for a device that has none */
};

/* Reads the binaries (which may end the process, see above), or the debug data of Intel's drivers, of those devices that the program is
 * built for. False if there are none.
 * Drivers crash when they are asked of a program that is built for no device. */
bool program_read_binaries(cl_program program, const bool *built, size_t count, struct program_parts *parts);
bool program_read_debug(cl_program program, const bool *built, size_t count, struct program_parts *parts);
void program_parts_free(struct program_parts *parts);

#endif
