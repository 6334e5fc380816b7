// A SYCL host for tests.corpus.sycl_choice: it loads a library, whose images the runtime registers, and launches the kernel
// "chosen" of it. A plain C++ compiler makes it: what SYCL's compiler says of a kernel stands here.
#include <sycl/detail/kernel_desc.hpp>

class Chosen;
namespace sycl {
inline namespace _V1 {
namespace detail {
template <> struct KernelInfo<Chosen> {
    static constexpr unsigned getNumParams() { return 0; }
    static constexpr const kernel_param_desc_t &getParamDesc(int) { return none; }
    static constexpr const char *getName() { return "chosen"; }
    static constexpr bool isESIMD() { return false; }
    static constexpr const char *getFileName() { return ""; }
    static constexpr const char *getFunctionName() { return ""; }
    static constexpr unsigned getLineNumber() { return 0; }
    static constexpr unsigned getColumnNumber() { return 0; }
    static constexpr int64_t getKernelSize() { return 1; }

private:
    static constexpr kernel_param_desc_t none{};
};
} // namespace detail
} // namespace _V1
} // namespace sycl

#include <dlfcn.h>
#include <iostream>
#include <sycl/sycl.hpp>

int main(int count, char **words) {
    if (count < 2 || !dlopen(words[1], RTLD_NOW)) {
        std::cerr << "cannot load the library\n";
        return 2;
    }
    try {
        sycl::queue queue(sycl::default_selector_v);
        queue.submit([&](sycl::handler &handler) { handler.single_task<Chosen>([] {}); }).wait();
        std::cout << "LAUNCHED" << std::endl;
    } catch (std::exception &error) {
        std::cout << "EXCEPTION " << error.what() << std::endl;
    }
    _Exit(0);
}
