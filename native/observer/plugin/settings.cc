#include "settings.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace kernlens {

namespace {

constexpr size_t MOST_SIZES = 8;
constexpr unsigned WIDEST = 64;
constexpr time_t LONGEST_WAIT = 300;  // seconds

}  // namespace

Settings::Settings(const char *text) {
  const char *unset = getenv("OCLGRIND_UNINITIALIZED");
  marks = unset && strcmp(unset, "1") == 0;
  while (text && *text) {
    const char *equals = strchr(text, '=');
    if (!equals) return;
    std::string name(text, equals - text);
    if (name == "file" || name == "folder") {
      (name == "file" ? file : folder) = equals + 1;
      return;
    }
    uint64_t number = 0;
    for (text = equals + 1; *text && *text != ' '; text++) number = number * 10 + static_cast<uint64_t>(*text - '0');
    while (*text == ' ') text++;
    if (name == "width" && number >= 1 && number <= WIDEST) machine.width = static_cast<unsigned>(number);
    if (name == "banks") machine.banks = static_cast<unsigned>(number);
    if (name == "bank_bytes" && number) machine.bank_bytes = static_cast<unsigned>(number);
    if (name == "phases") machine.has_phases = number != 0;
    if (name == "split") machine.is_split = number != 0;
    if (name == "asks") asks = number;
    if (name == "seconds") seconds = static_cast<double>(number);
    if (name == "launches") launches = static_cast<unsigned>(number);
    if (name == "groups") groups = number;
    if (name == "order" && number <= SAMPLED) order = static_cast<Order>(number);
    if (name == "ends") ends = number != 0;
    if (name == "races") races = number;
    if (name == "tells") tells = number != 0;
  }
}

bool Counted::takes(const std::string &sizes, const Settings &settings) {
  if (settings.seconds > 0 && seconds >= settings.seconds) return false;
  auto known = launches.find(sizes);
  if (known == launches.end()) {
    if (settings.launches && launches.size() >= MOST_SIZES) return false;
    known = launches.emplace(sizes, 0).first;
  }
  if (settings.launches && known->second >= settings.launches) return false;
  known->second++;
  return true;
}

unsigned asked_width(uint64_t number, const std::string &build, const std::string &kernel) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::string name = "kernlens-observe-" + std::to_string(number), question = build + "\t" + kernel + "\n";
  memcpy(address.sun_path + 1, name.data(), name.size());  // an abstract name: it has no file
  socklen_t size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connection < 0) return 0;
  timeval wait = {LONGEST_WAIT, 0};
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
  char answer[16] = "";
  bool is_sent = connect(connection, reinterpret_cast<sockaddr *>(&address), size) == 0 &&
                 send(connection, question.data(), question.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(question.size());
  if (is_sent && recv(connection, answer, sizeof answer - 1, 0) < 0) answer[0] = 0;
  close(connection);
  unsigned width = 0;
  for (const char *each = answer; *each >= '0' && *each <= '9' && width <= WIDEST; each++)
    width = 10 * width + static_cast<unsigned>(*each - '0');
  return width <= WIDEST ? width : 0;
}

}  // namespace kernlens
