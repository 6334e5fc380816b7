// Kernels of every kind of name: a class, a lambda without a name, a functor, rounded ranges of these, a free function.
#include "own.hpp"

namespace names {
class Named;
template <typename T, int N> struct Functor {
  T *values;
  void operator()(sycl::id<1> index) const {
    for (int step = 0; step < N; ++step)
      values[index] = sycl::sin(values[index]) + damped(values[index], T(step));
  }
};
} // namespace names

inline void submit(sycl::queue &queue, float *values, sycl::float3 *vectors) {
  queue.parallel_for<names::Named>(sycl::range<1>(1000), [=](sycl::id<1> index) {
    values[index] = values[index] * 2.0f + 1.0f;
  });
  queue.parallel_for(sycl::range<1>(1000), names::Functor<float, 3>{values});
  queue.single_task([=] {
    values[0] = sycl::dot(vectors[0], vectors[1]);
  });
  queue.parallel_for<class InFunction>(sycl::nd_range<2>({64, 64}, {8, 8}), [=](sycl::nd_item<2> item) {
    const auto across = item.get_global_id(1);
    const auto down = item.get_global_id(0);
    vectors[down * 64 + across] = sycl::normalize(vectors[across * 64 + down]);
  });
}

extern "C" SYCL_EXTERNAL SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<1>))
void scale(float *values, float factor) {
  const size_t index = sycl::ext::oneapi::this_work_item::get_nd_item<1>().get_global_linear_id();
  values[index] = sycl::sqrt(values[index]) * damped(values[index], factor);
}
