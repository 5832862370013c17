// See link_meter.h.
#include "lab/link_meter.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <time.h>

#include <cerrno>
#include <cstring>
#include <sstream>
#include <string>
#include <utility>

#include "base/document.h"

namespace heddle::lab {
namespace {

constexpr size_t kSentBytes = 8;  // column of /proc/net/dev

Result<Descriptor> open_namespace(const std::string& path) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.valid()) return file;
  return fail(ErrorCode::kUnavailable, "cannot open the namespace " + path, std::strerror(errno),
              "see `heddle lab list` for the labs that are up");
}

}  // namespace

Nanos meter_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return seconds(now.tv_sec) + nanos(now.tv_nsec);
}

Result<LinkMeter> LinkMeter::open(const Layout& layout) {
  LinkMeter meter(layout);
  Result<Descriptor> own = open_namespace("/proc/self/ns/net");
  if (!own) return fail(std::move(own).error());
  meter.own_ = std::move(*own);
  for (const Place& place : layout.places) {
    Result<Descriptor> each = open_namespace("/run/netns/" + place.netns);
    if (!each) return fail(std::move(each).error());
    meter.namespaces_.push_back(std::move(*each));
  }
  return meter;
}

Result<MeterReading> LinkMeter::read() const {
  MeterReading reading{.at = meter_now()};
  reading.links.resize(layout_->topology.links.size());
  Result<void> result;
  for (size_t i = 0; i < namespaces_.size() && result; ++i) {
    const std::string what = "cannot read the counters of " + layout_->places[i].name;
    if (setns(namespaces_[i].number(), CLONE_NEWNET) != 0) {
      result = fail(ErrorCode::kPermission, what, std::strerror(errno), "run it as root");
      break;
    }
    const Result<std::string> text = read_text_file("/proc/thread-self/net/dev", "");
    if (!text) result = fail(text.error());
    if (text) add_device_bytes(*layout_, layout_->places[i], *text, reading.links);
  }
  if (setns(own_.number(), CLONE_NEWNET) != 0) {
    return fail(ErrorCode::kSystem, "cannot return to the namespace of this process",
                std::strerror(errno), "start it again");
  }
  if (!result) return fail(result.error());
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
