/* Options that a capture adds to what the application builds. */
#define _GNU_SOURCE
#include "base/bytes.h"
#include "base/owned.h"
#include "opencl_layer/below.h"
#include "opencl_layer/recorder/parts.h"

#include <stdlib.h>
#include <string.h>

/* Line tables are asked for from compilers that are known to have an option for them: others would refuse the build. */
static const char LINES[] = "-gline-tables-only"; /* Intel's compiler for GPUs */

static const char *all;           /* NULL: none */
static const char *without_lines; /* those that stand behind the option for line tables, if that is the first */

/* Compilers that have another option for lines, and all that is added to their builds. PoCL 6 refuses the one above; NVIDIA's driver
 * makes the same machine code with its own. */
static struct {
    const struct compiler *compiler;
    const char *lines, *all;
} others[] = {{&pocl_compiler, "-g", NULL}, {&nvidia_compiler, "-nv-line-info", NULL}};

enum { OTHERS = sizeof others / sizeof others[0] };

/* Tells whether this compiler builds for all devices that are meant. */
static bool is_compiled_by(const struct compiler *compiler, cl_program program, cl_uint count, const cl_device_id *devices)
{
    size_t own_count = 0;
    FREED cl_device_id *own = devices == NULL ? program_devices(program, &own_count) : NULL;
    if (devices == NULL) {
        devices = own;
        count = (cl_uint)own_count;
    }
    bool is = devices != NULL && count > 0;
    for (cl_uint index = 0; is && index < count; ++index)
        is = compiler_of(devices[index]) == compiler;
    return is;
}

/* Stands before what is added. Drivers give options back, in words of their own for what was added, and write them into binaries, where
 * the next process reads them: all from here on is not the application's. Every compiler takes a macro. */
static const char MARK[] = "-DKERNLENS_ADDED";

/* PoCL keeps what it knows of kernels' arguments if it gets no options at all, and else if it is told to. */
static const char ARGUMENTS[] = "-cl-kernel-arg-info ";

char *with_added(const char *options, const char *added, cl_program program, cl_uint count, const cl_device_id *devices)
{
    if (added == NULL)
        return NULL;
    const char *own = options != NULL ? options : "";
    bool keeps_arguments = options == NULL && program != NULL && is_compiled_by(&pocl_compiler, program, count, devices);
    return text_format("%s%s%s %s%s", own, own[0] != '\0' ? " " : "", MARK, keeps_arguments ? ARGUMENTS : "", added);
}

bool options_are_added(void)
{
    return all != NULL;
}

void added_take_out(char *options)
{
    char *mark = strstr(options, MARK);
    if (mark != NULL)
        *(mark > options && mark[-1] == ' ' ? mark - 1 : mark) = '\0';
}

const char *added_to_build(cl_program program, cl_uint count, const cl_device_id *devices)
{
    if (all == NULL || program == NULL)
        return NULL;
    const char *added = is_compiled_by(&igc_compiler, program, count, devices) ? all : without_lines;
    for (size_t index = 0; added == without_lines && index < OTHERS; ++index)
        if (others[index].all != NULL && is_compiled_by(others[index].compiler, program, count, devices))
            added = others[index].all;
    size_t size = 0;
    FREED char *source = added[0] != '\0' ? program_source(program, &size) : NULL;
    FREED char *il = added[0] != '\0' && source == NULL ? program_il(program, &size) : NULL;
    return source != NULL || il != NULL ? added : NULL;
}

/* Intel's compiler for GPUs makes machine code as it links: options for that act there alone, and it passes over those for sources.
 * Other linkers refuse what is no option for linkers. */
const char *added_to_link(cl_uint program_count, const cl_program *programs, cl_uint count, const cl_device_id *devices,
                          const char *options)
{
    if (all == NULL || without_lines[0] == '\0' || programs == NULL || program_count == 0 || programs[0] == NULL ||
        (options != NULL && strstr(options, "-create-library") != NULL) ||
        !is_compiled_by(&igc_compiler, programs[0], count, devices))
        return NULL;
    return without_lines;
}

void added_options_open(void)
{
    const char *added = getenv("KERNLENS_CAPTURE_OPTIONS");
    all = added != NULL && added[0] != '\0' ? strdup(added) : NULL;
    if (all != NULL)
        without_lines = text_starts_with(all, LINES) ? all + strlen(LINES) + (all[strlen(LINES)] == ' ') : all;
    if (all != NULL && without_lines != all)
        for (size_t index = 0; index < OTHERS; ++index)
            others[index].all = without_lines[0] == '\0' ? others[index].lines : text_format("%s %s", others[index].lines, without_lines);
}
