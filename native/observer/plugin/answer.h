// The file that sections are appended to, each whole.
#ifndef KERNLENS_OBSERVER_ANSWER_H
#define KERNLENS_OBSERVER_ANSWER_H

#include <sys/types.h>

#include <cstdio>
#include <cstdlib>

#include "settings.h"

namespace kernlens {

class Answer {
 public:
  explicit Answer(const Settings &settings) : settings_(settings) {}
  ~Answer();

  // What `write` writes into the file that it is given is there, whatever ends the process afterwards.
  template <typename Write>
  void add(Write write) {
    char *bytes = nullptr;
    size_t size = 0;
    FILE *memory = open_memstream(&bytes, &size);
    if (!memory) return;
    write(memory);
    if (fclose(memory) == 0) append(bytes, size);
    free(bytes);
  }

 private:
  void append(const char *bytes, size_t size);
  void open_file();

  const Settings &settings_;
  pid_t process_ = 0;  // whose file it is: in a folder each process has its own
  int file_ = -1;
};

}  // namespace kernlens
#endif
