// Compiles SYCL source text at run time, with the compiler of the package intel-sycl-rt (extension kernel_compiler), for the
// device that SYCL chooses, so that its driver builds the kernels.
//
//     host [--launch KERNEL]... SOURCE [OPTION]...
//
// Headers next to SOURCE (*.hpp) can be included. KERNEL is a free function that takes a pointer and a float.
// Prints the device's name and the names of the kernels.
#define SYCL_DISABLE_FSYCL_SYCLHPP_WARNING
#include <sycl/sycl.hpp>

#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace experimental = sycl::ext::oneapi::experimental;

static std::string text_of(const std::filesystem::path &path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (!(text << file.rdbuf())) throw std::runtime_error("cannot read " + path.string());
  return text.str();
}

int main(int count, char **arguments) {
  std::vector<std::string> words(arguments + 1, arguments + count), launched;
  while (words.size() > 1 && words[0] == "--launch") {
    launched.push_back(words[1]);
    words.erase(words.begin(), words.begin() + 2);
  }
  if (words.empty()) {
    std::cerr << "usage: host [--launch KERNEL]... SOURCE [OPTION]...\n";
    return 2;
  }
  std::string log;
  try {
    const std::filesystem::path path(words[0]);
    experimental::include_files headers;
    for (const auto &entry : std::filesystem::directory_iterator(std::filesystem::absolute(path).parent_path()))
      if (entry.path().extension() == ".hpp") headers.add(entry.path().filename(), text_of(entry.path()));
    sycl::queue queue;
    std::cout << queue.get_device().get_info<sycl::info::device::name>() << std::endl;
    auto source = experimental::create_kernel_bundle_from_source(queue.get_context(), experimental::source_language::sycl,
                                                                 text_of(path), experimental::properties{headers});
    const std::vector<std::string> options(words.begin() + 1, words.end());
    auto bundle = experimental::build(
        source, experimental::properties{experimental::build_options{options}, experimental::save_log{&log}});
    for (const auto &kernel : bundle.get_kernel_ids()) std::cout << kernel.get_name() << std::endl;
    for (const auto &name : launched) {
      auto kernel = bundle.ext_oneapi_get_kernel(name);
      float *values = sycl::malloc_device<float>(1024, queue);
      queue.submit([&](sycl::handler &handler) {
        handler.set_args(values, 2.0f);
        handler.parallel_for(sycl::nd_range<1>(1024, 64), kernel);
      });
      queue.wait_and_throw();
      sycl::free(values, queue);
    }
  } catch (const std::exception &error) {
    std::cerr << error.what() << "\n" << log << std::endl;
    return 1;
  }
  return 0;
}
