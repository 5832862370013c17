// See foreign_job.h. What a process called becomes the events that heddle would have recorded of
// it.
#include "recordings/import/foreign_job.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/hash.h"
#include "base/units.h"
#include "events/recording.h"
#include "insight/expected.h"

namespace heddle::recordings {
namespace {

using events::AnyEvent;

struct Timed {
  int64_t at_ns = 0;
  AnyEvent event;
};

std::vector<Timed> events_of(const ForeignProcess& process) {
  std::vector<Timed> events;
  std::map<uint64_t, uint32_t> made;
  const auto put = [&events](int64_t at, auto event) {
    event.time = Nanos{at};
    events.push_back({at, event});
  };
  for (const ForeignCall& call : process.calls) {
    const uint32_t number = ++made[call.communicator];
    put(call.made_ns, events::CallMade{{},
                                       call.communicator,
                                       number,
                                       call.number,
                                       call.operation,
                                       call.type,
                                       call.count,
                                       call.root,
                                       0});
    put(call.started_ns, events::CallStarted{{},
                                             call.communicator,
                                             number,
                                             call.operation,
                                             insight::least_algorithm(call.operation),
                                             0,
                                             0,
                                             0,
                                             1u << 20});
    if (call.ended) put(call.ended_ns, events::CallEnded{{}, call.communicator, number, true});
  }
  if (process.seen_ns > 0) put(process.seen_ns, events::Mark{{}, events::Text("seen"), 0});
  std::stable_sort(events.begin(), events.end(),
                   [](const Timed& a, const Timed& b) { return a.at_ns < b.at_ns; });
  return events;
}

std::string printable_name(std::string name) {
  for (char& each : name) {
    if (each == '/' || static_cast<unsigned char>(each) <= ' ') each = '_';
  }
  return name;
}

}  // namespace

uint64_t whole_number(const ForeignJson& value) {
  if (value.is_number_integer()) return value.get<uint64_t>();
  return static_cast<uint64_t>(value.get_ref<const ForeignJson::number_integer_t&>());
}

uint64_t number_of_name(const std::string& name) { return std::max<uint64_t>(1, hash_text(name)); }

Result<void> write_foreign(const ForeignProcess& process, const std::string& folder,
                           size_t number) {
  const std::vector<Timed> events = events_of(process);
  const std::string host = insight::value_of(process.identity, "host");
  insight::Identity identity = process.identity;
  identity.emplace_back("clock", "wall clock of " + host);
  for (auto& [name, value] : identity) std::replace(value.begin(), value.end(), '\n', ' ');
  auto recording = events::Recording::create(
      {.directory = folder,
       .most = Bytes{(events.size() + process.communicators.size()) * 64 + (1u << 20)},
       .identity = std::move(identity)});
  if (!recording) return fail(recording.error());
  {
    const auto recorder = (*recording)->add_writer();
    const Nanos first = {events.empty() ? 0 : events.front().at_ns};
    for (const auto& [communicator, place] : process.communicators) {
      recorder->on_any(events::CommunicatorMade{first, communicator, place.first, place.second});
    }
    for (const Timed& each : events) {
      std::visit([&recorder](const auto& event) { recorder->on_any(event); }, each.event);
    }
  }
  const std::string path = fmt::format("{}/{}.{}.heddle", folder, printable_name(host), number);
  if (std::rename((*recording)->path().c_str(), path.c_str()) == 0) return {};
  return fail(ErrorCode::kSystem, "cannot write " + path, std::strerror(errno),
              "choose another folder with -o");
}

}  // namespace heddle::recordings
