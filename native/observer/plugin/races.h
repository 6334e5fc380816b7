// Oclgrind's look for data races, in the buffers for which there is memory. It keeps 48 bytes for each byte of a buffer of global
// memory, from when the buffer is made until it is released, and makes them anew after each launch: an application with a few
// hundred megabytes would need more memory than a machine has.
#ifndef KERNLENS_OBSERVER_RACES_H
#define KERNLENS_OBSERVER_RACES_H

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "hooks.h"

namespace kernlens {

class Races : public Hooks {
 public:
  // `most`: bytes that it may keep.
  Races(Context *context, uint64_t most);
  ~Races() override { detector_->~Hooks(); }

  // Whether nothing looks for races in the buffer at an address.
  bool leaves_out(size_t address) const;

  void kernel_begin(const Invocation *invocation) override { detector_->kernel_begin(invocation); }
  void kernel_end(const Invocation *invocation) override { detector_->kernel_end(invocation); }
  void allocated(const Storage *memory, size_t address, size_t size, uint64_t flags, const uint8_t *content) override;
  void deallocated(const Storage *memory, size_t address) override;
  void atomic_load(const Storage *memory, const Item *item, int operation, size_t address, size_t size) override {
    if (looks_at(memory, address)) detector_->atomic_load(memory, item, operation, address, size);
  }
  void atomic_store(const Storage *memory, const Item *item, int operation, size_t address, size_t size) override {
    if (looks_at(memory, address)) detector_->atomic_store(memory, item, operation, address, size);
  }
  void load(const Storage *memory, const Item *item, size_t address, size_t size) override {
    if (looks_at(memory, address)) detector_->load(memory, item, address, size);
  }
  void load_of_group(const Storage *memory, const Group *group, size_t address, size_t size) override {
    if (looks_at(memory, address)) detector_->load_of_group(memory, group, address, size);
  }
  void store(const Storage *memory, const Item *item, size_t address, size_t size, const uint8_t *value) override {
    if (looks_at(memory, address)) detector_->store(memory, item, address, size, value);
  }
  void store_of_group(const Storage *memory, const Group *group, size_t address, size_t size, const uint8_t *value) override {
    if (looks_at(memory, address)) detector_->store_of_group(memory, group, address, size, value);
  }
  void barrier(const Group *group, uint32_t flags) override { detector_->barrier(group, flags); }
  void group_begin(const Group *group) override { detector_->group_begin(group); }
  void group_complete(const Group *group) override { detector_->group_complete(group); }

 private:
  bool looks_at(const Storage *memory, size_t address) const {
    return !left_out_ || interpreter.space_of(memory) != GLOBAL || !leaves_out(address);
  }

  std::unique_ptr<unsigned char[]> place_;  // of the detector
  Hooks *detector_;
  uint64_t free_;                       // bytes
  mutable std::mutex state_;            // of the buffers, which the threads of the application make and release
  std::map<uint64_t, size_t> buffers_;  // that it looks at: their numbers and sizes
  std::map<uint64_t, size_t> others_;
  std::atomic<size_t> left_out_{0};  // how many others there are
};

}  // namespace kernlens
#endif
