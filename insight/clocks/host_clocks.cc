// See host_clocks.h.
#include "insight/clocks/host_clocks.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>
#include <variant>

namespace heddle::insight {
namespace {

// Wraps on overflow: damaged recordings contain arbitrary times.
int64_t difference(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
int64_t sum(int64_t a, int64_t b) { return difference(a, difference(0, b)); }

std::optional<int64_t> number_of(const std::string& text) {
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (text.empty() || error != std::errc() || at != end) return std::nullopt;
  return number;
}

}  // namespace

Clock in_namespace(Clock clock, int64_t ahead_ns) {
  clock.from_ns = sum(clock.from_ns, ahead_ns);
  clock.to_ns = sum(clock.to_ns, ahead_ns);
  clock.offset_from_ns = difference(clock.offset_from_ns, ahead_ns);
  clock.offset_to_ns = difference(clock.offset_to_ns, ahead_ns);
  return clock;
}

HostClock host_clock(const Identity& identity, uint32_t process) {
  const std::string clock = value_of(identity, "clock");
  const std::optional<int64_t> ahead = number_of(value_of(identity, "clock_ahead_ns"));
  if (const size_t boot = clock.find(' '); ahead && boot != std::string::npos) {
    return {"boot " + clock.substr(0, boot), *ahead};
  }
  if (!clock.empty()) return {clock, 0};
  const std::string host = value_of(identity, "host");
  return {host.empty() ? "process " + std::to_string(process) : host, 0};
}

events::AnyEvent on_host_clock(events::AnyEvent event, int64_t ahead_ns) {
  std::visit([ahead_ns](auto& each) { each.time.count = difference(each.time.count, ahead_ns); },
             event);
  return event;
}

Clocks apart(const Clocks& hosts, const std::vector<ClockOfProcess>& processes) {
  uint32_t first = 0;
  for (uint32_t i = 1; i < processes.size(); ++i) {
    if (hosts.of_process[i] != 0) continue;
    const auto rank = [&processes](uint32_t at) {
      return static_cast<uint64_t>(processes[at].rank);
    };
    if (hosts.of_process[first] != 0 || rank(i) < rank(first)) first = i;
  }
  Clocks made;
  made.of_process.resize(processes.size());
  std::map<std::pair<uint32_t, int64_t>, uint32_t> numbers;
  const auto add = [&](uint32_t process) {
    const ClockOfProcess& own = processes[process];
    const uint32_t host = hosts.of_process[process];
    const auto number = static_cast<uint32_t>(made.clocks.size());
    const auto [at, fresh] = numbers.emplace(std::pair(host, own.ahead_ns), number);
    made.of_process[process] = at->second;
    if (!fresh) return;
    Clock clock = in_namespace(hosts.clocks[host], own.ahead_ns);
    clock.name = own.host;
    clock.host = process;
    if (host == 0 && number > 0) clock.basis = ClockBasis::kSameHost;
    made.clocks.push_back(std::move(clock));
  };
  // The reference comes first, then the hosts in order.
  if (!processes.empty()) add(first);
  for (uint32_t host = 0; host < hosts.clocks.size(); ++host) {
    for (uint32_t i = 0; i < processes.size(); ++i) {
      if (hosts.of_process[i] == host) add(i);
    }
  }
  return made;
}

}  // namespace heddle::insight
