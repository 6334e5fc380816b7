/* cl_codeplay_program_snapshot: the program at each stage of its compilation.
 *
 * Names and values are those of the extension's specification, version 2. Both functions are found with
 * clGetExtensionFunctionAddressForPlatform; the extension's name stands in CL_DEVICE_EXTENSIONS.
 */
#ifndef CL_CODEPLAY_PROGRAM_SNAPSHOT_H
#define CL_CODEPLAY_PROGRAM_SNAPSHOT_H

#include <CL/cl.h>

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define cl_codeplay_program_snapshot 1
#define CL_CODEPLAY_PROGRAM_SNAPSHOT_EXTENSION_NAME "cl_codeplay_program_snapshot"

typedef cl_uint cl_codeplay_program_binary_format;

/* The stage's own form; see the stage table for which one that is. */
#define CL_PROGRAM_BINARY_FORMAT_DEFAULT_CODEPLAY 0x0
/* The binary form, or the text form of a stage that has no other. */
#define CL_PROGRAM_BINARY_FORMAT_BINARY_CODEPLAY 0x1
/* The text form, or the binary form of a stage that has no other. */
#define CL_PROGRAM_BINARY_FORMAT_TEXT_CODEPLAY 0x2

/* Receives one snapshot. `snapshot_size` is in bytes, without the zero byte that always follows the snapshot.
 * `callback_data` is the C string of the usual file ending (".ll", ".bc", ".asm", ...) of what was delivered; a second
 * C string follows its zero byte: the kernel's name, empty for a stage of program scope. All pointers but `user_data`
 * are valid only during the call. */
typedef void(CL_CALLBACK *cl_codeplay_snapshot_callback_t)(size_t snapshot_size, const char *snapshot_data,
                                                           void *callback_data, void *user_data);

/* Fills `stages` with names in pipeline order, at most `*num_stages` of them, all if `num_stages` is NULL; or, if
 * `stages` is NULL, sets `*num_stages` to their number. The names live as long as the process. */
typedef cl_int(CL_API_CALL *clRequestProgramSnapshotListCODEPLAY_fn)(cl_program program, cl_device_id device,
                                                                     const char **stages, cl_uint *num_stages);

/* Has `callback` called with the snapshot of `stage` before the call that builds, compiles or links the program for
 * `device` returns. The latest request for a program counts. */
typedef cl_int(CL_API_CALL *clRequestProgramSnapshotCODEPLAY_fn)(cl_program program, cl_device_id device,
                                                                 const char *stage,
                                                                 cl_codeplay_program_binary_format format,
                                                                 cl_codeplay_snapshot_callback_t callback,
                                                                 void *user_data);

#ifdef __cplusplus
}
#endif

#endif
