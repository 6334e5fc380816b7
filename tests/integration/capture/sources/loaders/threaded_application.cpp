// Builds and launches from several threads at once, each with a queue of its own, and prints a hash of all that was computed,
// which is the same in each run: threaded_application THREADS PROGRAMS LAUNCHES. Its last line has the seconds that it took.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr size_t COUNT = 4096;

const char *SOURCE = R"(
float twice(float value, int times) { for (int i = 0; i < times; i++) value = value * 0.75f + 1.0f; return value; }
kernel void smooth(global const float *in, global float *out)
{
    size_t i = get_global_id(0), n = get_global_size(0);
    out[i] = twice((in[i] + in[(i + 1) % n] + in[(i + n - 1) % n]) * 0.25f, TIMES);
}
)";

void need(cl_int status, const char *what)
{
    if (status != CL_SUCCESS)
        throw std::runtime_error(std::string(what) + " " + std::to_string(status));
}

struct Work {
    cl_context context;
    cl_device_id device;
    int programs, launches;

    uint64_t run(int thread) const
    {
        cl_int status;
        uint64_t hash = 14695981039346656037u;
        cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
        need(status, "clCreateCommandQueue");
        for (int number = 0; number < programs; number++) {
            std::vector<float> values(COUNT);
            for (size_t i = 0; i < COUNT; i++)
                values[i] = static_cast<float>((i * 7 + thread) % 31);
            cl_mem buffers[2];
            for (auto &buffer : buffers) {
                buffer = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, COUNT * sizeof(float), values.data(), &status);
                need(status, "clCreateBuffer");
            }
            cl_program program = clCreateProgramWithSource(context, 1, &SOURCE, nullptr, &status);
            need(status, "clCreateProgramWithSource");
            std::string options = "-DTIMES=" + std::to_string(1 + number + thread * programs);
            need(clBuildProgram(program, 1, &device, options.c_str(), nullptr, nullptr), "clBuildProgram");
            cl_kernel kernel = clCreateKernel(program, "smooth", &status);
            need(status, "clCreateKernel");
            for (int launch = 0; launch < launches; launch++) {
                size_t size = COUNT;
                clSetKernelArg(kernel, 0, sizeof(cl_mem), &buffers[launch % 2]);
                clSetKernelArg(kernel, 1, sizeof(cl_mem), &buffers[(launch + 1) % 2]);
                need(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &size, nullptr, 0, nullptr, nullptr), "launch");
            }
            need(clEnqueueReadBuffer(queue, buffers[launches % 2], CL_TRUE, 0, COUNT * sizeof(float), values.data(), 0,
                                     nullptr, nullptr),
                 "clEnqueueReadBuffer");
            auto bytes = reinterpret_cast<unsigned char *>(values.data());
            for (size_t i = 0; i < COUNT * sizeof(float); i++)
                hash = (hash ^ bytes[i]) * 1099511628211u;
            clReleaseKernel(kernel);
            clReleaseProgram(program);
            for (auto &buffer : buffers)
                clReleaseMemObject(buffer);
        }
        clReleaseCommandQueue(queue);
        return hash;
    }
};

} // namespace

int main(int count, char **words)
{
    if (count != 4)
        return 2;
    auto start = std::chrono::steady_clock::now();
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    need(clGetPlatformIDs(1, &platform, nullptr), "clGetPlatformIDs");
    need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr), "clGetDeviceIDs");
    cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &status);
    need(status, "clCreateContext");
    Work work{context, device, std::atoi(words[2]), std::atoi(words[3])};
    std::vector<std::thread> threads;
    std::vector<uint64_t> hashes(std::atoi(words[1]));
    for (size_t i = 0; i < hashes.size(); i++)
        threads.emplace_back([&, i] { hashes[i] = work.run(static_cast<int>(i)); });
    for (auto &thread : threads)
        thread.join();
    uint64_t sum = 0;
    for (auto hash : hashes)
        sum = sum * 31 + hash;
    std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    std::printf("computed %016llx\nseconds %.6f\n", static_cast<unsigned long long>(sum), spent.count());
    return 0;
}
