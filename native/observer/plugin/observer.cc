// The plugin as Oclgrind calls it: from one thread, as it says that it is not safe with several.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "counting.h"

namespace kernlens {

namespace {

constexpr size_t MOST_MESSAGES = 1000;
constexpr size_t LONGEST_MESSAGE = 4096;
constexpr double BETWEEN_WORDS = 0.2;  // seconds
constexpr uint64_t BETWEEN_LOOKS = 1u << 14;  // instructions between two looks at the clock

// What messages have in common that say the same of the same places: the first words, and the lines with places.
std::string key_of(const std::string &text) {
  std::string key = text.substr(0, std::min(text.find(" address "), text.find('\n')));
  for (size_t at = text.find("At line "); at != std::string::npos; at = text.find("At line ", at + 1))
    key += text.substr(at, text.find('\n', at) - at);
  return key;
}

double now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec * 1e-9;
}

// What is set by KERNLENS_OBSERVE: words NAME=VALUE with blanks between them, `file` the last.
struct Settings {
  Machine machine;
  double seconds = 0;  // 0: no limit
  bool ends = false;   // the process, when the time is over
  bool tells = false;  // on standard output, how many work-groups have ended
  std::string file;

  explicit Settings(const char *text) {
    while (text && *text) {
      const char *equals = strchr(text, '=');
      if (!equals) return;
      std::string name(text, equals - text);
      if (name == "file") {
        file = equals + 1;
        return;
      }
      unsigned number = 0;
      for (text = equals + 1; *text && *text != ' '; text++) number = number * 10 + (*text - '0');
      while (*text == ' ') text++;
      if (name == "width" && number >= 1 && number <= 64) machine.width = number;
      if (name == "banks") machine.banks = number;
      if (name == "bank_bytes" && number) machine.bank_bytes = number;
      if (name == "phases") machine.has_phases = number != 0;
      if (name == "split") machine.is_split = number != 0;
      if (name == "seconds") seconds = number;
      if (name == "ends") ends = number != 0;
      if (name == "tells") tells = number != 0;
    }
  }
};

// Its virtual functions are those of Oclgrind's interface of plugins, in their order.
class Observer {
 public:
  explicit Observer(const Settings &settings) : settings_(settings), file_(fopen(settings.file.c_str(), "ae")) {}
  virtual ~Observer() {
    if (file_) fclose(file_);
  }
  virtual void host_load(const Storage *, size_t, size_t) {}
  virtual void host_store(const Storage *, size_t, size_t, const uint8_t *) {}
  virtual void executed(const Item *item, const Value *instruction, const Opaque &) {
    if (!counting_) return;
    if (++looks_ >= BETWEEN_LOOKS) look_at_clock();
    if (counting_) counting_->executed(item, instruction);
  }
  virtual void kernel_begin(const Invocation *invocation) {
    counting_.reset(new Counting(settings_.machine));
    begun_ = now();
    Observation &own = counting_->observation;
    size_t length = 0;
    const char *name = interpreter.name(interpreter.function_of_kernel(interpreter.kernel_of(invocation)), &length);
    own.kernel.assign(name, length);
    own.global = interpreter.global_size(invocation);
    own.local = interpreter.local_size(invocation);
    own.groups = interpreter.groups_of(invocation);
  }
  virtual void kernel_end(const Invocation *) { finish(); }
  virtual void message(int type, const char *text) {
    std::string whole(text, strnlen(text, LONGEST_MESSAGE));
    auto known = messages_.find(key_of(whole));
    if (known != messages_.end()) known->second.count++;
    else if (messages_.size() < MOST_MESSAGES) messages_.emplace(key_of(whole), Message{messages_.size(), type, 1, whole});
  }
  virtual void allocated(const Storage *memory, size_t address, size_t size, uint64_t, const uint8_t *) {
    if (!counting_ && interpreter.space_of(memory) == GLOBAL) buffers_.emplace_back(address, size);
  }
  virtual void atomic_load(const Storage *memory, const Item *item, int, size_t address, size_t size) {
    if (counting_) counting_->access(memory, item, address, size, ATOMICS);
  }
  virtual void atomic_store(const Storage *, const Item *, int, size_t, size_t) {}  // follows the load of the same access
  virtual void deallocated(const Storage *memory, size_t address) {
    if (counting_ || interpreter.space_of(memory) != GLOBAL) return;
    buffers_.erase(std::remove_if(buffers_.begin(), buffers_.end(), [address](const auto &each) { return each.first == address; }),
                   buffers_.end());
  }
  virtual void load(const Storage *memory, const Item *item, size_t address, size_t size) {
    if (counting_) counting_->access(memory, item, address, size, LOADS);
  }
  virtual void load_of_group(const Storage *, const Group *, size_t, size_t size) {
    if (counting_) counting_->observation.copied += size;
  }
  virtual void map(const Storage *, size_t, size_t, size_t, uint64_t) {}
  virtual void store(const Storage *memory, const Item *item, size_t address, size_t size, const uint8_t *) {
    if (counting_) counting_->access(memory, item, address, size, STORES);
  }
  virtual void store_of_group(const Storage *, const Group *, size_t, size_t, const uint8_t *) {}
  virtual void unmap(const Storage *, size_t, const void *) {}
  virtual void barrier(const Group *group, uint32_t) {
    if (counting_) counting_->barrier(interpreter.current_barrier(group));
  }
  virtual void group_begin(const Group *group) {
    if (counting_) counting_->begin_group(interpreter.group_size(group).product());
  }
  virtual void group_complete(const Group *) {
    if (!counting_) return;
    counting_->end_group();
    const Observation &own = counting_->observation;
    if (settings_.tells && now() - told_ >= BETWEEN_WORDS) {
      told_ = now();
      printf("kernlens %lu %lu\n", static_cast<unsigned long>(own.groups_done), static_cast<unsigned long>(own.groups.product()));
      fflush(stdout);
    }
    look_at_clock();
  }
  virtual void item_begin(const Item *) {}
  virtual void item_complete(const Item *item) {
    if (counting_) counting_->end_item(item);
  }
  virtual bool is_thread_safe() const { return false; }

 private:
  void look_at_clock() {
    looks_ = 0;
    if (settings_.seconds <= 0 || now() - begun_ < settings_.seconds) return;
    const Observation &own = counting_->observation;
    if (own.groups_done == own.groups.product()) return;
    counting_->observation.is_out_of_time = true;
    finish();
    if (settings_.ends) _exit(0);  // What is counted is the answer.
  }

  void finish() {
    if (counting_ && file_) write(counting_->observation, messages_, buffers_, file_);
    messages_.clear();
    counting_.reset();
  }

  Settings settings_;
  FILE *file_;
  std::unique_ptr<Counting> counting_;
  std::map<std::string, Message> messages_;
  std::vector<std::pair<uint64_t, uint64_t>> buffers_;  // addresses and sizes
  double begun_ = 0, told_ = 0;
  uint64_t looks_ = 0;
};

Observer *observer;

}  // namespace

}  // namespace kernlens

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED void initializePlugins(kernlens::Context *context) {
  using namespace kernlens;
  const char *words = getenv("KERNLENS_OBSERVE");
  if (!words || observer) return;
  if (const char *missing = interpreter.find()) {
    fprintf(stderr, "kernlens: this Oclgrind is not 21.10 with LLVM 14: it has no %s\n", missing);
    return;
  }
  observer = new Observer(Settings(words));
  interpreter.register_plugin(context, observer);
}

EXPORTED void releasePlugins(kernlens::Context *context) {
  using namespace kernlens;
  if (!observer) return;
  interpreter.unregister_plugin(context, observer);
  delete observer;
  observer = nullptr;
}
