#include "opencl_layer/layer/kept_build_exports.h"

#include "base/folders.h"
#include "base/owned.h"
#include "opencl_layer/below.h"
#include "opencl_layer/compilers/compilers.h"
#include "opencl_layer/layer/kept_build.h"
#include "opencl_layer/layer/layer.h"

#include <stdlib.h>

struct kept_build {
    struct stage_form form;
    char *folder; /* after the build: what it kept; NULL if nothing */
};

EXPORTED void kernlens_kept_build_use(cl_api_clGetProgramInfo get_info, cl_api_clCreateProgramWithIL create,
                                      cl_api_clSetProgramSpecializationConstant set, cl_api_clReleaseProgram release)
{
    static cl_icd_dispatch functions;
    functions.clGetProgramInfo = get_info;
    functions.clCreateProgramWithIL = create;
    functions.clSetProgramSpecializationConstant = set;
    functions.clReleaseProgram = release;
    if (below == NULL)
        below = &functions;
}

EXPORTED struct kept_build *kernlens_kept_build_begin(cl_program program, const char *stage, int text)
{
    FREED struct kept_build *build = calloc(1, sizeof *build);
    if (build == NULL)
        return NULL;
    build->form = (struct stage_form){
        .compiler = &igc_compiler, .stage = stage_named(&igc_compiler, stage), .text = text != 0};
    bool begun =
        build->form.stage != NULL && stage_needs_dumps(&build->form) && kept_build_begin(program, &build->form);
    return begun ? GIVE(build) : NULL;
}

EXPORTED void kernlens_kept_build_over(struct kept_build *build)
{
    build->folder = kept_build_end(&build->form);
}

EXPORTED void kernlens_kept_build_take(struct kept_build *build, const unsigned char *binary, size_t size,
                                       cl_codeplay_snapshot_callback_t callback, void *user_data)
{
    RELEASED_BY(snapshots_free) struct snapshots snapshots = {0};
    struct view program = {.bytes = binary, .size = size};
    if (build->folder != NULL)
        igc_compiler.collect(&build->form, build->folder, &program, &snapshots);
    folder_release(&build->folder);
    free(build);
    for (size_t index = 0; index < snapshots.count; ++index)
        callback(snapshots.items[index].size, snapshots.items[index].bytes, snapshots.items[index].label, user_data);
}
