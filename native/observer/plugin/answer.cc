#include "answer.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

namespace kernlens {

Answer::~Answer() {
  if (file_ >= 0) close(file_);
}

void Answer::append(const char *bytes, size_t size) {
  if (file_ < 0 || process_ != getpid()) open_file();
  while (file_ >= 0 && size) {
    ssize_t done = ::write(file_, bytes, size);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return;
    bytes += done;
    size -= static_cast<size_t>(done);
  }
}

void Answer::open_file() {
  if (file_ >= 0) close(file_);
  process_ = getpid();
  std::string path = settings_.file;
  if (path.empty()) {
    timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    char name[64];
    snprintf(name, sizeof name, "/%08lx%08lx-%010d.observation", static_cast<unsigned long>(time.tv_sec) & 0xFFFFFFFF,
             static_cast<unsigned long>(time.tv_nsec), static_cast<int>(process_));
    path = settings_.folder + name;
  }
  file_ = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
}

}  // namespace kernlens
