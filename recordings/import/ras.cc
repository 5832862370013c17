// See ras.h. An operation's last call that all ranks have made counts as ended when all had made
// it; the ones after it are open on the ranks that have made them. What all have made may hang,
// too, but counts do not show that.
#include "recordings/import/ras.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <optional>
#include <utility>

#include "recordings/params.h"

namespace heddle::recordings {
namespace {

using events::Operation;

// A damaged snapshot has any counts; to these some can be added.
constexpr uint64_t kMostCalls = uint64_t{1} << 62;
// Of two snapshots of a hang: as heddle diagnose needs (kHangFirstNs in
// insight/diagnosis/params.h).
constexpr int64_t kApartNs = 60'000'000'000;

constexpr std::pair<const char*, Operation> kNames[] = {
    {"AllReduce", Operation::kAllreduce},
    {"AllGather", Operation::kAllgather},
    {"ReduceScatter", Operation::kReducescatter},
    {"Broadcast", Operation::kBroadcast},
    {"Reduce", Operation::kReduce},
};

// "2026-05-05 06:16:47", the local time of a machine, which names no zone.
std::optional<int64_t> time_of(const std::string& text) {
  std::tm parts{};
  const char* const end = strptime(text.c_str(), "%Y-%m-%d %H:%M:%S", &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  const std::time_t seconds = timegm(&parts);
  if (seconds < 0 || seconds > INT64_MAX / 2'000'000'000) return std::nullopt;
  return int64_t{seconds} * 1'000'000'000;
}

uint64_t count_at(const std::map<int64_t, std::array<uint64_t, std::size(kNames)>>& counts,
                  size_t kind, int64_t at) {
  const auto after = counts.upper_bound(at);
  return after == counts.begin() ? 0 : std::prev(after)->second[kind];
}

}  // namespace

bool looks_like_ras(const ForeignJson& document) {
  return document.is_object() && document.contains("nccl_version") &&
         document.contains("communicators") && document.contains("ras");
}

Result<void> RasReader::add(const ForeignJson& document, const std::string& file) {
  const std::string what = "cannot read the RAS snapshot " + file;
  const std::string todo = "give the output of `ncclras -f json` as it was printed";
  try {
    const auto at = time_of(document.at("timestamp").get<std::string>());
    if (!at) return fail(ErrorCode::kInvalid, what, "its timestamp is no date and time", todo);
    const auto [same, fresh] = snapshots_.emplace(*at, file);
    if (!fresh) {
      return fail(ErrorCode::kInvalid, what, "it is of the same second as " + same->second,
                  "give each snapshot once");
    }
    for (const ForeignJson& each : document.at("communicators")) add_communicator(each, *at);
    return {};
  } catch (const ForeignJson::exception& error) {
    return fail(ErrorCode::kInvalid, what, error.what(), todo);
  }
}

void RasReader::add_communicator(const ForeignJson& about, int64_t at_ns) {
  const auto name = about.at("hash").get<std::string>();
  const uint64_t number =
      number_of_name(name + " " + about.at("secondary_hash").get<std::string>());
  Communicator& communicator = communicators_[number];
  communicator.size = static_cast<uint32_t>(whole_number(about.at("size")));
  const auto process_of = [](const ForeignJson& rank) {
    const int64_t pid = rank.at("pid").get<int64_t>();  // -1: NCCL does not know it
    return Process{rank.at("host").get<std::string>(),
                   static_cast<uint64_t>(std::max<int64_t>(0, pid)),
                   whole_number(rank.at("cuda_dev"))};
  };
  for (const ForeignJson& each : member_or_empty(about, "ranks")) {
    Rank& rank = communicator.ranks[static_cast<uint32_t>(whole_number(each.at("rank")))];
    rank.process = process_of(each);
    Counts& counts = rank.counts[at_ns];
    const ForeignJson& given = each.at("collective_counts");
    for (size_t kind = 0; kind < kOperations; ++kind) {
      const auto found = given.find(kNames[kind].first);
      if (found != given.end()) counts[kind] = std::min(whole_number(*found), kMostCalls);
    }
    const int64_t error = each.at("status").value("async_error", int64_t{0});
    if (error != 0) {
      notes_.insert(fmt::format("NCCL has error {} on rank {} of communicator {}", error,
                                whole_number(each.at("rank")), name));
    }
  }
  for (const ForeignJson& each : member_or_empty(about, "missing_ranks")) {
    const auto number_of_rank = static_cast<uint32_t>(whole_number(each.at("rank")));
    Rank& rank = communicator.ranks[number_of_rank];
    if (rank.counts.empty()) rank.process = process_of(each);
    const bool dead = each.at("status").value("considered_dead", false);
    notes_.insert(fmt::format("NCCL {} rank {} of communicator {}, on {}",
                              dead ? "considers dead:" : "has no answer from", number_of_rank, name,
                              std::get<0>(rank.process)));
  }
}

void RasReader::add_calls(uint64_t number, const Communicator& communicator) {
  const int64_t last = snapshots_.rbegin()->first;
  for (size_t kind = 0; kind < kOperations; ++kind) {
    uint64_t all = UINT64_MAX;  // calls that all ranks have made
    for (const auto& [place, rank] : communicator.ranks) {
      // Of a rank that no snapshot has nothing is known, so it takes part in none of them.
      if (!rank.counts.empty()) all = std::min(all, count_at(rank.counts, kind, last));
    }
    // When a rank had made a call, by a snapshot.
    const auto made = [&](const Rank& rank, uint64_t call) {
      for (const auto& [at, file] : snapshots_) {
        if (count_at(rank.counts, kind, at) >= call) return at;
      }
      return last;
    };
    int64_t all_made = snapshots_.begin()->first;
    for (const auto& [place, rank] : communicator.ranks) {
      if (!rank.counts.empty()) all_made = std::max(all_made, made(rank, all));
    }
    for (const auto& [place, rank] : communicator.ranks) {
      if (rank.counts.empty()) continue;
      ForeignProcess& process = processes_[rank.process];
      ForeignCall call{.communicator = number, .operation = kNames[kind].second};
      const uint64_t own =
          std::min(count_at(rank.counts, kind, last), all + params::foreign::kMostOpenCalls);
      for (call.number = std::max<uint64_t>(1, all); call.number <= own; ++call.number) {
        call.ended = call.number <= all;
        call.made_ns = call.ended ? all_made : made(rank, call.number);
        call.started_ns = call.ended_ns = call.made_ns;
        process.calls.push_back(call);
      }
    }
  }
}

std::vector<ForeignProcess> RasReader::take() {
  if (snapshots_.empty()) return {};
  for (const auto& [number, communicator] : communicators_) {
    for (const auto& [place, rank] : communicator.ranks) {
      const auto& [host, pid, gpu] = rank.process;
      ForeignProcess& process = processes_[rank.process];
      process.identity = {{"host", host},
                          {"pid", std::to_string(pid)},
                          {"source", "NCCL RAS"},
                          {"command", fmt::format("GPU {}, seen by NCCL RAS", gpu)}};
      process.communicators[number] = {place, communicator.size};
      process.seen_ns = snapshots_.rbegin()->first;
    }
    add_calls(number, communicator);
  }
  const int64_t span = snapshots_.rbegin()->first - snapshots_.begin()->first;
  if (span < kApartNs) {
    notes_.insert(
        fmt::format("the snapshots of NCCL RAS span {} s, and a hang shows by two that are at "
                    "least a minute apart",
                    span / 1'000'000'000));
  }
  std::vector<ForeignProcess> processes;
  for (auto& [name, process] : processes_) processes.push_back(std::move(process));
  return processes;
}

}  // namespace heddle::recordings
