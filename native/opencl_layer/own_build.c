/* A stage of a build in this process for a caller that is no OpenCL layer: kernlens's Python functions, around pyopencl's build.
 * Only for IGC: the CPU runtime's variables would be set too late. */
#include "files.h"
#include "layer.h"
#include "own_dumps.h"
#include "stages.h"

#include <stdlib.h>

/* The caller's OpenCL functions, in place of those that a layer gets. */
EXPORTED void kernlens_own_build_use(cl_api_clGetProgramInfo get_info, cl_api_clCreateProgramWithIL create,
                                     cl_api_clSetProgramSpecializationConstant set,
                                     cl_api_clReleaseProgram release)
{
    static cl_icd_dispatch functions;
    functions.clGetProgramInfo = get_info;
    functions.clCreateProgramWithIL = create;
    functions.clSetProgramSpecializationConstant = set;
    functions.clReleaseProgram = release;
    if (below == NULL)
        below = &functions;
}

/* Before a build of this program with IGC: has it keep this stage. What it returns is for the two other functions, to be called in
 * their order; NULL: it cannot, a second build must. */
EXPORTED struct request *kernlens_own_build_begin(cl_program program, const char *stage, int text)
{
    struct request *request = calloc(1, sizeof *request);
    if (request == NULL)
        return NULL;
    request->program = program;
    request->compiler = &igc_compiler;
    request->stage = stage_named(&igc_compiler, stage);
    request->text = text != 0;
    bool kept = request->stage != NULL &&
                (request->stage->origin == ORIGIN_COMPILER || (request->stage->origin == ORIGIN_SPIRV && text)) &&
                own_dumps_begin(request);
    if (kept)
        return request;
    free(request);
    return NULL;
}

/* Right after it, also if it failed. */
EXPORTED void kernlens_own_build_over(struct request *request)
{
    request->own_folder = own_dumps_end(request);
}

/* Then: calls back with what was kept, as a request to the layer would. `binary` is the program's; NULL if there is none, which
 * serves stages of the whole program only. */
EXPORTED void kernlens_own_build_take(struct request *request, const unsigned char *binary, size_t size,
                                     cl_codeplay_snapshot_callback_t callback, void *user_data)
{
    struct snapshots snapshots = {0};
    struct binary program = {.bytes = binary, .size = size};
    char *folder = request->own_folder;
    if (folder != NULL) {
        igc_compiler.collect(request->stage, request->text, folder, &program, &snapshots);
        folder_remove(folder);
        free(folder);
    }
    free(request);
    for (size_t index = 0; index < snapshots.count; ++index)
        callback(snapshots.items[index].size, snapshots.items[index].bytes, snapshots.items[index].label, user_data);
    snapshots_free(&snapshots);
}
