// A header of the application's own, beside its source.
#pragma once
#include <sycl/sycl.hpp>

inline float damped(float value, float factor) {
  const float square = value * value;
  return sycl::exp(-square * factor) + 1.0f / (square + 0.5f);
}
