// The plugin as Oclgrind calls it: of one launch from one thread, as it says that it is not safe with several. Each context of the
// application has an observer, as addresses in the memory of one mean nothing in another's.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "answer.h"
#include "counting.h"
#include "messages.h"
#include "preparing.h"
#include "races.h"
#include "settings.h"

namespace kernlens {

namespace {

constexpr int MESSAGE_OF_ERROR = 3;  // as Oclgrind numbers them
constexpr size_t MOST_MESSAGES = 1000;
constexpr size_t LONGEST_MESSAGE = 4096;
constexpr size_t MOST_KERNELS = 10000;
constexpr size_t MOST_BUFFERS = 10000;
constexpr uint32_t LOCAL_FENCE = 1;  // of a barrier: CLK_LOCAL_MEM_FENCE
constexpr double BETWEEN_WORDS = 0.2;  // seconds
constexpr double BEFORE_DECISION = 0.02;  // of the time
constexpr uint64_t BETWEEN_LOOKS = 1u << 14;  // instructions between two looks at the clock

double now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec * 1e-9;
}

// The number of its build that the options of a program have; "" if they have none.
std::string build_of(const Opaque *kernel) {
  static const char OPTION[] = "-DKERNLENS_BUILD=";
  const std::string &options = interpreter.build_options(interpreter.program_of_kernel(kernel));
  size_t at = options.rfind(OPTION);
  if (at == std::string::npos) return "";
  at += strlen(OPTION);
  return options.substr(at, strspn(options.c_str() + at, "0123456789abcdef-"));
}

// The arguments that point to memory which others see, with their addresses.
std::vector<std::pair<uint64_t, std::string>> arguments_of(const Opaque *kernel) {
  std::vector<std::pair<uint64_t, std::string>> arguments;
  const Contents contents(interpreter.contents(kernel), interpreter.contents_end(kernel));
  for (unsigned each = 0; each < interpreter.argument_count(kernel); each++) {
    const Value *argument = interpreter.argument(kernel, each);
    const Opaque *type = interpreter.type(argument);
    auto known = contents.find(argument);
    if (known == contents.end() || interpreter.type_kind(type) != KIND_POINTER) continue;
    unsigned space = interpreter.pointer_space(type);
    if ((space != GLOBAL && space != CONSTANT) || known->second.size != sizeof(uint64_t)) continue;
    size_t length = 0;
    const char *name = interpreter.name(argument, &length);
    arguments.emplace_back(0, std::string(name, length));
    memcpy(&arguments.back().first, known->second.bytes, sizeof(uint64_t));
  }
  return arguments;
}

std::mutex launching;  // held while a kernel runs

std::string told(const Sizes &sizes) {
  return std::to_string(sizes.x) + " " + std::to_string(sizes.y) + " " + std::to_string(sizes.z);
}

class Observer : public Hooks {
 public:
  Observer(const Settings &settings, Context *context) : settings_(settings), answer_(settings_) {
    if (settings_.races) races_.reset(new Races(context, settings_.races));
  }
  // What Oclgrind calls, the look for races first: what it says at the end of a launch belongs to it.
  std::vector<Hooks *> plugins() { return races_ ? std::vector<Hooks *>{races_.get(), this} : std::vector<Hooks *>{this}; }
  void executed(const Item *item, const Value *instruction, const Opaque &) override {
    if (!counting_) return;
    if (++looks_ >= BETWEEN_LOOKS) look_at_clock();
    if (counting_) counting_->executed(item, instruction);
  }
  // An application may launch from several threads, and in several contexts. What has begun is the only launch until it ends.
  void kernel_begin(const Invocation *invocation) override {
    launching.lock();
    const Opaque *kernel = interpreter.kernel_of(invocation);
    invocation_ = invocation;
    prepare(kernel, settings_.marks);
    size_t length = 0;
    const char *name = interpreter.name(interpreter.function_of_kernel(kernel), &length);
    own_ = Launch{build_of(kernel), std::string(name, length), interpreter.global_size(invocation),
                  interpreter.local_size(invocation), interpreter.groups_of(invocation), arguments_of(kernel), {}};
    for (const auto &[address, argument] : own_.arguments)
      if (races_ && races_->leaves_out(address)) own_.left_out.push_back(argument);
    known_ = &kernels_[kernels_.size() < MOST_KERNELS ? own_.build + "\t" + own_.kernel : ""];
    if (!can_run(kernel)) return skip();
    if (!known_->takes(told(own_.global) + " " + told(own_.local), settings_)) return;
    if (settings_.asks && !known_->width) known_->width = asked_width(settings_.asks, own_.build, own_.kernel);
    counting_.reset(new Counting(machine(), own_));
    choose_groups();
    if (!settings_.folder.empty()) answer_.add([this](FILE *file) { write_begin(own_, file); });
    begun_ = now();
  }
  void kernel_end(const Invocation *) override {
    finish();
    tell_of_the_uncounted();
    invocation_ = nullptr;
    launching.unlock();
  }
  void message(int type, const char *text) override {
    std::string whole(text, strnlen(text, LONGEST_MESSAGE)), key = key_of(whole, own_.local, known_ ? machine().width : 1);
    std::lock_guard<std::mutex> lock(state_);
    auto known = messages_.find(key);
    if (known != messages_.end()) known->second.count++;
    else if (messages_.size() < MOST_MESSAGES) messages_.emplace(key, Message{messages_.size(), type, 1, whole + further(whole, invocation_)});
  }
  void allocated(const Storage *memory, size_t address, size_t size, uint64_t, const uint8_t *) override {
    if (interpreter.space_of(memory) != GLOBAL) return;
    std::lock_guard<std::mutex> lock(state_);
    if (buffers_.size() < MOST_BUFFERS) buffers_.emplace_back(address, size);
  }
  void atomic_load(const Storage *memory, const Item *item, int, size_t address, size_t size) override {
    if (counting_) counting_->access(memory, item, address, size, ATOMICS);
  }
  void deallocated(const Storage *memory, size_t address) override {
    if (interpreter.space_of(memory) != GLOBAL) return;
    std::lock_guard<std::mutex> lock(state_);
    buffers_.erase(std::remove_if(buffers_.begin(), buffers_.end(), [address](const auto &each) { return each.first == address; }),
                   buffers_.end());
  }
  void load(const Storage *memory, const Item *item, size_t address, size_t size) override {
    if (counting_) counting_->access(memory, item, address, size, LOADS);
  }
  void load_of_group(const Storage *, const Group *, size_t, size_t size) override {
    if (counting_) counting_->observation.copied += size;
  }
  void store(const Storage *memory, const Item *item, size_t address, size_t size, const uint8_t *value) override {
    if (counting_) counting_->access(memory, item, address, size, STORES, value);
  }
  void barrier(const Group *group, uint32_t flags) override {
    if (counting_) counting_->barrier(interpreter.current_barrier(group), flags & LOCAL_FENCE);
  }
  void group_begin(const Group *group) override {
    if (counting_) counting_->begin_group(interpreter.group_size(group).product());
  }
  void group_complete(const Group *group) override {
    if (!counting_) return;
    counting_->end_group(stratum_of(interpreter.group_id(group), own_.groups));
    const Observation &own = counting_->observation;
    if (settings_.tells && now() - told_ >= BETWEEN_WORDS) {
      told_ = now();
      printf("kernlens %lu %lu\n", static_cast<unsigned long>(own.groups_done),
             static_cast<unsigned long>(own.chosen));
      fflush(stdout);
    }
    look_at_clock();
    if (counting_) look_ahead();
  }
  void item_complete(const Item *item) override {
    if (counting_) counting_->end_item(item);
  }

 private:
  Machine machine() const {
    Machine machine = settings_.machine;
    if (known_->width) machine.width = known_->width;
    return machine;
  }

  // Oclgrind would run code that it does not have. What it said of it went to standard error.
  void skip() {
    message(MESSAGE_OF_ERROR, "OCLGRIND FATAL ERROR (kernlens)\nIt cannot read the kernel's code as it is after LLVM's passes\n");
    if (std::vector<Sizes> *list = groups_of(invocation_)) list->clear();
  }

  void look_at_clock() {
    looks_ = 0;
    if (settings_.seconds <= 0 || known_->seconds + now() - begun_ < settings_.seconds) return;
    Observation &own = counting_->observation;
    if (own.groups_done == own.chosen) return;
    own.is_out_of_time = true;
    finish();
    if (settings_.ends) _exit(0);  // What is counted is the answer.
  }

  void choose_groups() {
    Observation &own = counting_->observation;
    own.chosen = own_.groups.product();
    is_decided_ = settings_.order != IF_NEEDED || settings_.seconds <= 0;
    std::vector<Sizes> *list = settings_.order == SAMPLED ? groups_of(invocation_) : nullptr;
    if (!list) return;
    spread(*list, 0, own_.groups);
    own.is_sampled = true;
    if (!settings_.groups || settings_.groups >= own.chosen) return;
    own.chosen = settings_.groups;
    list->resize(own.chosen);
  }

  // After a part of the time: if it will not do for all groups, those that run from now on are a sample of the others.
  void look_ahead() {
    Observation &own = counting_->observation;
    double spent = now() - begun_, done = static_cast<double>(own.groups_done);
    if (is_decided_ || spent < BEFORE_DECISION * settings_.seconds) return;
    is_decided_ = true;
    if (spent / done * static_cast<double>(own.chosen) < settings_.seconds - known_->seconds) return;
    if (std::vector<Sizes> *list = groups_of(invocation_)) {
      spread(*list, own.groups_done, own_.groups);
      own.is_sampled = true;
    }
  }

  void finish() {
    if (!counting_) return;
    known_->seconds += now() - begun_;
    put(counting_->observation);
    counting_.reset();
  }

  // Of launches that are not counted, what Oclgrind says for the first time is written.
  void tell_of_the_uncounted() {
    bool is_new = false;
    {
      std::lock_guard<std::mutex> lock(state_);
      for (const auto &each : messages_) is_new |= !known_->told.count(each.first);
    }
    Observation none(machine(), own_);
    none.is_out_of_time = true;
    if (is_new) put(none);
    std::lock_guard<std::mutex> lock(state_);
    messages_.clear();
  }

  void put(const Observation &observation) {
    std::lock_guard<std::mutex> lock(state_);
    answer_.add([&](FILE *file) { write(observation, messages_, buffers_, file); });
    for (const auto &each : messages_)
      if (known_->told.size() < MOST_MESSAGES) known_->told.insert(each.first);
    messages_.clear();
  }

  Settings settings_;
  Answer answer_;
  std::unique_ptr<Races> races_;
  std::mutex state_;   // of what the threads of the application change: messages and buffers
  Launch own_;         // the launch that runs
  const Invocation *invocation_ = nullptr;
  std::map<std::string, Counted> kernels_;
  Counted *known_ = nullptr;
  std::unique_ptr<Counting> counting_;
  std::map<std::string, Message> messages_;
  std::vector<std::pair<uint64_t, uint64_t>> buffers_;  // addresses and sizes
  double begun_ = 0, told_ = 0;
  bool is_decided_ = true;  // whether groups are sampled
  uint64_t looks_ = 0;
};

// Never destroyed: libraries release their contexts when the process ends, in destructors that come after those of this file.
std::mutex of_observers;
auto &observers = *new std::map<Context *, std::unique_ptr<Observer>>;

}  // namespace

}  // namespace kernlens

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED void initializePlugins(kernlens::Context *context) {
  using namespace kernlens;
  const char *words = getenv("KERNLENS_OBSERVE");
  std::lock_guard<std::mutex> lock(of_observers);
  if (!words || observers.count(context)) return;
  if (const char *missing = interpreter.find()) {
    fprintf(stderr, "kernlens: this Oclgrind is not 21.10 with LLVM 14: it has no %s\n", missing);
    return;
  }
  observers[context].reset(new Observer(Settings(words), context));
  for (Hooks *each : observers[context]->plugins()) interpreter.register_plugin(context, each);
}

EXPORTED void releasePlugins(kernlens::Context *context) {
  using namespace kernlens;
  std::lock_guard<std::mutex> lock(of_observers);
  auto own = observers.find(context);
  if (own == observers.end()) return;
  for (Hooks *each : own->second->plugins()) interpreter.unregister_plugin(context, each);
  observers.erase(own);
}
