/* Counts calls independently of the recorder: a line for each call that builds, makes a kernel or launches one, at the end of the
 * file that COUNTED names. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct _cl_icd_dispatch below, table;

static void count(const char *line)
{
    int file = open(getenv("COUNTED"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (write(file, line, strlen(line)) < 0)
        perror("COUNTED");
    close(file);
}

static cl_int CL_API_CALL build(cl_program program, cl_uint n, const cl_device_id *devices, const char *options,
                                void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
    count("build\n");
    return below.clBuildProgram(program, n, devices, options, notify, data);
}

static cl_int CL_API_CALL compile(cl_program program, cl_uint n, const cl_device_id *devices, const char *options,
                                  cl_uint headers, const cl_program *header_programs, const char **names,
                                  void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
    count("compile\n");
    return below.clCompileProgram(program, n, devices, options, headers, header_programs, names, notify, data);
}

static cl_program CL_API_CALL link_programs(cl_context context, cl_uint n, const cl_device_id *devices,
                                            const char *options, cl_uint programs, const cl_program *inputs,
                                            void(CL_CALLBACK *notify)(cl_program, void *), void *data, cl_int *error)
{
    count("link\n");
    return below.clLinkProgram(context, n, devices, options, programs, inputs, notify, data, error);
}

static cl_kernel CL_API_CALL create(cl_program program, const char *name, cl_int *error)
{
    cl_kernel kernel = below.clCreateKernel(program, name, error);
    if (kernel != NULL)
        count("kernel\n");
    return kernel;
}

static cl_int CL_API_CALL create_all(cl_program program, cl_uint room, cl_kernel *kernels, cl_uint *made)
{
    cl_uint number = 0;
    cl_int status = below.clCreateKernelsInProgram(program, room, kernels, &number);
    for (cl_uint i = 0; status == CL_SUCCESS && kernels != NULL && i < number; i++)
        count("kernel\n");
    if (made != NULL)
        *made = number;
    return status;
}

static cl_kernel CL_API_CALL clone_kernel(cl_kernel source, cl_int *error)
{
    cl_kernel kernel = below.clCloneKernel(source, error);
    if (kernel != NULL)
        count("kernel\n");
    return kernel;
}

static cl_int CL_API_CALL launch(cl_command_queue queue, cl_kernel kernel, cl_uint n, const size_t *offset,
                                 const size_t *global, const size_t *local, cl_uint events, const cl_event *list,
                                 cl_event *event)
{
    cl_int status = below.clEnqueueNDRangeKernel(queue, kernel, n, offset, global, local, events, list, event);
    if (status == CL_SUCCESS)
        count("launch\n");
    return status;
}

static cl_int CL_API_CALL launch_task(cl_command_queue queue, cl_kernel kernel, cl_uint events, const cl_event *list,
                                      cl_event *event)
{
    cl_int status = below.clEnqueueTask(queue, kernel, events, list, event);
    if (status == CL_SUCCESS)
        count("launch\n");
    return status;
}

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t room, void *value, size_t *size)
{
    (void)room;
    if (name == CL_LAYER_API_VERSION && value != NULL)
        *(cl_layer_api_version *)value = CL_LAYER_API_VERSION_100;
    if (name == CL_LAYER_NAME && value != NULL)
        strcpy(value, "count");
    if (size != NULL)
        *size = 8;
    return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch *target, cl_uint *count_ret,
                                            const cl_icd_dispatch **layer)
{
    size_t size = entries * sizeof(void *) < sizeof table ? entries * sizeof(void *) : sizeof table;
    memcpy(&below, target, size);
    memcpy(&table, target, size);
    table.clBuildProgram = build;
    table.clCompileProgram = compile;
    table.clLinkProgram = link_programs;
    table.clCreateKernel = create;
    table.clCreateKernelsInProgram = create_all;
    table.clCloneKernel = clone_kernel;
    table.clEnqueueNDRangeKernel = launch;
    table.clEnqueueTask = launch_task;
    *layer = &table;
    *count_ret = (cl_uint)(size / sizeof(void *));
    return CL_SUCCESS;
}
