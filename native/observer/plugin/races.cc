#include "races.h"

namespace kernlens {

namespace {

constexpr uint64_t OF_BYTE = 48;     // bytes that Oclgrind's detector (RaceDetector::AccessRecord) keeps for each
constexpr size_t LARGEST = 4096;     // bytes of the detector itself, which has some 200
constexpr unsigned OF_BUFFER = 48;   // an address in global memory has its buffer's number in the bits from here on

}  // namespace

Races::Races(Context *context, uint64_t most) : place_(new unsigned char[LARGEST]()), free_(most) {
  interpreter.new_race_detector(place_.get(), context);
  detector_ = reinterpret_cast<Hooks *>(place_.get());
}

bool Races::leaves_out(size_t address) const {
  std::lock_guard<std::mutex> lock(state_);
  return others_.count(address >> OF_BUFFER) != 0;
}

void Races::allocated(const Storage *memory, size_t address, size_t size, uint64_t flags, const uint8_t *content) {
  if (interpreter.space_of(memory) == GLOBAL) {
    std::lock_guard<std::mutex> lock(state_);
    bool has_room = size <= free_ / OF_BYTE;
    (has_room ? buffers_ : others_)[address >> OF_BUFFER] = size;
    left_out_ = others_.size();
    if (!has_room) return;
    free_ -= size * OF_BYTE;
  }
  detector_->allocated(memory, address, size, flags, content);
}

void Races::deallocated(const Storage *memory, size_t address) {
  if (interpreter.space_of(memory) == GLOBAL) {
    std::lock_guard<std::mutex> lock(state_);
    bool is_left_out = others_.erase(address >> OF_BUFFER) != 0;
    left_out_ = others_.size();
    auto own = buffers_.find(address >> OF_BUFFER);
    if (is_left_out || own == buffers_.end()) return;
    free_ += own->second * OF_BYTE;
    buffers_.erase(own);
  }
  detector_->deallocated(memory, address);
}

}  // namespace kernlens
