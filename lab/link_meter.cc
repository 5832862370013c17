// See link_meter.h.
#include "lab/link_meter.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <string>
#include <utility>

#include "base/thread.h"
#include "lab/params.h"
#include "lab/worker.h"

namespace heddle::lab {
namespace {

constexpr size_t kSentBytes = 8;  // column of /proc/net/dev

Error cannot_read_counters(const std::string& place) {
  return {ErrorCode::kSystem, "cannot read the counters of " + place, std::strerror(errno),
          "see `heddle lab list` for the labs that are up"};
}

// The table of network devices in each place's namespace. Such a file is of the namespace in which
// it was opened, whichever its reader is in. The calling thread stays in the last one.
Result<std::vector<Descriptor>> open_tables(const std::vector<Place>& places) {
  std::vector<Descriptor> tables;
  for (const Place& place : places) {
    if (Result<void> entered = enter_namespace(place.netns, false); !entered)
      return fail(entered.error());
    Descriptor table(open("/proc/thread-self/net/dev", O_RDONLY | O_CLOEXEC));
    if (!table.valid()) return fail(cannot_read_counters(place.name));
    tables.push_back(std::move(table));
  }
  return tables;
}

// The whole text of a file that is open, anew.
Result<std::string> read_again(const Descriptor& file, const std::string& place) {
  std::string text;
  ssize_t got = -1;
  if (lseek(file.number(), 0, SEEK_SET) == 0) {
    do {
      const size_t had = text.size();
      text.resize(had + params::kPieceBytes);
      got = ::read(file.number(), text.data() + had, params::kPieceBytes);
      text.resize(had + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    } while (got > 0 || (got < 0 && errno == EINTR));
  }
  if (got < 0) return fail(cannot_read_counters(place));
  return text;
}

}  // namespace

Nanos meter_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return seconds(now.tv_sec) + nanos(now.tv_nsec);
}

Result<LinkMeter> LinkMeter::open(const Layout& layout) {
  LinkMeter meter(layout);
  // A process whose first thread is in the namespace of a host counts as one of the host's, which a
  // pause stops; so another thread enters them.
  Result<std::vector<Descriptor>> tables = std::vector<Descriptor>();
  Result<Thread> thread =
      start_thread("heddle-meter", [&] { tables = open_tables(layout.places); });
  if (!thread) return fail(std::move(thread).error());
  thread->join();
  if (!tables) return fail(std::move(tables).error());
  meter.tables_ = std::move(*tables);
  return meter;
}

Result<MeterReading> LinkMeter::read() const {
  MeterReading reading{.at = meter_now()};
  reading.links.resize(layout_->topology.links.size());
  for (size_t i = 0; i < tables_.size(); ++i) {
    const Place& place = layout_->places[i];
    const Result<std::string> text = read_again(tables_[i], place.name);
    if (!text) return fail(text.error());
    add_device_bytes(*layout_, place, *text, reading.links);
  }
  return reading;
}

void add_device_bytes(const Layout& layout, const Place& place, const std::string& text,
                      std::vector<LinkBytes>& links) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const size_t start = line.find_first_not_of(' ');
    const std::string device = line.substr(start, colon - start);
    std::istringstream fields(line.substr(colon + 1));
    std::vector<uint64_t> numbers;
    for (uint64_t number = 0; fields >> number;) numbers.push_back(number);
    if (numbers.size() <= kSentBytes) continue;
    for (const uint32_t at : place.ports) {
      const Port& port = layout.ports[at];
      if (port.device != device) continue;
      LinkBytes& link = links[port.link];
      (port.at_a ? link.forward : link.backward) = numbers[kSentBytes];
    }
  }
}

}  // namespace heddle::lab
