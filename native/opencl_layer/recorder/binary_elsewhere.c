/* Binaries of drivers that may end the process that asks for them: a second build is asked, in a process of its own. It has a cache
 * of its own: a program out of PoCL's cache has no source lines. */
#define _GNU_SOURCE
#include "base/files.h"
#include "base/owned.h"
#include "opencl_layer/below.h"
#include "opencl_layer/recorder/parts.h"
#include "opencl_layer/second_build/job.h"
#include "opencl_layer/second_build/second_build.h"

#include <stdlib.h>
#include <string.h>

void elsewhere_input(struct elsewhere *elsewhere, cl_program program, cl_device_id device)
{
    size_t count = 0;
    FREED cl_device_id *devices = program != NULL ? program_devices(program, &count) : NULL;
    if (devices == NULL || count == 0 || !compiler_of(devices[0])->kernels_on_query)
        return;
    elsewhere->device = device != NULL ? device : devices[0];
    struct view binary = {0};
    FREED unsigned char *bytes = program_binary(program, elsewhere->device, &binary.size);
    binary.bytes = bytes;
    if (bytes == NULL)
        return;
    job_write_program(&elsewhere->inputs, &(struct job_program){.form = FORM_BINARY, .bytes = binary});
    ++elsewhere->input_count;
}

/* Writes what is to be built; false if it is not known. */
static bool write_job(struct writer *writer, const struct elsewhere *elsewhere, cl_program program, cl_device_id device)
{
    bool links = elsewhere->input_count > 0;
    const struct job job = {.operation = links ? JOB_LINK : JOB_BUILD,
                            .queries_binary = true,
                            .options = elsewhere->options,
                            .count = links ? elsewhere->input_count : 1};
    job_write(writer, &job);
    if (links) {
        write_bytes(writer, elsewhere->inputs.bytes, elsewhere->inputs.size);
        return device == elsewhere->device && !elsewhere->inputs.failed;
    }
    struct job_program of = {.form = FORM_SOURCE};
    FREED char *bytes = program_source(program, &of.bytes.size);
    if (bytes == NULL) {
        of.form = FORM_IL;
        bytes = program_il(program, &of.bytes.size);
    }
    of.bytes.bytes = (const unsigned char *)bytes;
    constants_write_program(writer, &of, program);
    return bytes != NULL;
}

/* Runs the second build. Returns the binary; else NULL, and the reason. */
static char *run(struct second_build *build, const struct writer *job, size_t *size, char **reason)
{
    bool ended = second_build_run(build, job) && second_build_wait(build);
    const char *failure = second_build_reason(build);
    if (!ended || failure[0] != '\0') {
        *reason = strdup(failure);
        return NULL;
    }
    FREED char *path = text_format("%s/%s", second_build_folder(build), JOB_BINARY);
    FREED char *binary = path != NULL ? file_read(path, size) : NULL;
    if (binary == NULL)
        *reason = strdup("the driver gave none to the second build either");
    return GIVE(binary);
}

char *binary_elsewhere(const struct elsewhere *elsewhere, cl_program program, cl_device_id device, size_t *size, char **reason)
{
    RELEASED_BY(writer_free) struct writer job = {0};
    if (!write_job(&job, elsewhere, program, device)) {
        *reason = strdup("it is linked for several devices");
        return NULL;
    }
    const struct stage_form no_stage = {.compiler = compiler_of(device)};
    struct second_build *build = second_build_start(device, &no_stage, false);
    if (build == NULL) {
        *reason = strdup("the second build cannot be started");
        return NULL;
    }
    char *binary = run(build, &job, size, reason);
    second_build_free(build);
    return binary;
}

void elsewhere_free(struct elsewhere *elsewhere)
{
    free(elsewhere->options);
    writer_free(&elsewhere->inputs);
}
