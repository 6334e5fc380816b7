// What Oclgrind calls: the virtual functions of its interface of plugins, in their order. Its own plugins are called alike.
#ifndef KERNLENS_OBSERVER_HOOKS_H
#define KERNLENS_OBSERVER_HOOKS_H

#include "interpreter.h"

namespace kernlens {

class Hooks {
 public:
  virtual ~Hooks() {}
  virtual void host_load(const Storage *, size_t, size_t) {}
  virtual void host_store(const Storage *, size_t, size_t, const uint8_t *) {}
  virtual void executed(const Item *, const Value *, const Opaque &) {}
  virtual void kernel_begin(const Invocation *) {}
  virtual void kernel_end(const Invocation *) {}
  virtual void message(int, const char *) {}
  virtual void allocated(const Storage *, size_t, size_t, uint64_t, const uint8_t *) {}
  virtual void atomic_load(const Storage *, const Item *, int, size_t, size_t) {}
  virtual void atomic_store(const Storage *, const Item *, int, size_t, size_t) {}  // follows the load of the same access
  virtual void deallocated(const Storage *, size_t) {}
  virtual void load(const Storage *, const Item *, size_t, size_t) {}
  virtual void load_of_group(const Storage *, const Group *, size_t, size_t) {}
  virtual void map(const Storage *, size_t, size_t, size_t, uint64_t) {}
  virtual void store(const Storage *, const Item *, size_t, size_t, const uint8_t *) {}
  virtual void store_of_group(const Storage *, const Group *, size_t, size_t, const uint8_t *) {}
  virtual void unmap(const Storage *, size_t, const void *) {}
  virtual void barrier(const Group *, uint32_t) {}
  virtual void group_begin(const Group *) {}
  virtual void group_complete(const Group *) {}
  virtual void item_begin(const Item *) {}
  virtual void item_complete(const Item *) {}
  virtual bool is_thread_safe() const { return false; }
};

}  // namespace kernlens
#endif
