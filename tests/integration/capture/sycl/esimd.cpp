// Explicit SIMD kernels, which IGC's vector compiler builds: a class and a free function.
#include <sycl/sycl.hpp>
#include <sycl/ext/intel/esimd.hpp>

namespace esimd = sycl::ext::intel::esimd;

class Explicit;

inline void submit(sycl::queue &queue, float *values) {
  queue.parallel_for<Explicit>(sycl::range<1>(64), [=](sycl::id<1> index) SYCL_ESIMD_KERNEL {
    esimd::simd<float, 16> vector;
    vector.copy_from(values + index * 16);
    vector = esimd::sqrt(vector) * 3.0f;
    vector.copy_to(values + index * 16);
  });
}

extern "C" SYCL_EXTERNAL SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<1>))
SYCL_ESIMD_KERNEL void add_explicitly(float *values, float factor) {
  const auto index = sycl::ext::oneapi::this_work_item::get_nd_item<1>().get_global_linear_id();
  esimd::simd<float, 16> vector(values + index * 16);
  vector += factor;
  vector.copy_to(values + index * 16);
}
