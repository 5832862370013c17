// See run_counts.h.
#include "acceptance/run_counts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "nodes/rdma_ports.h"

namespace heddle::acceptance {
namespace {

using nodes::is_error_counter;

constexpr const char* kCounted = "counted";  // in the stage's data
constexpr const char* kCarrier = "carrier_changes";
constexpr const char* kLost =
    "its link was lost while the test ran: check cable and optics at both ends, and the log of the "
    "kernel";
constexpr std::array<std::string_view, 4> kChecks = {"link flaps", "NIC errors", "NIC drops",
                                                     "RDMA errors"};

enum class Kind { kFlap, kError, kDrop, kRdmaError, kNone };

// A full queue, of the NIC or of the kernel, loses packets without an error.
Kind kind_of(const std::string& name, bool is_rdma) {
  if (is_rdma) return is_error_counter(name) ? Kind::kRdmaError : Kind::kNone;
  if (name == kCarrier) return Kind::kFlap;
  if (name.ends_with("_bytes")) return Kind::kNone;
  for (const char* const full : {"dropped", "missed", "fifo", "over_errors"}) {
    if (name.find(full) != std::string::npos) return Kind::kDrop;
  }
  return Kind::kError;
}

// Rows of one kind: those of NICs that counted something, and one of the others. Both ends of a
// link that was lost have one row, by the link's label.
class KindRows {
 public:
  KindRows(Kind kind, const std::vector<PlaceCounts>& counted) : kind_(kind), counted_(counted) {}

  std::vector<Row> make() {
    size_t all = 0;
    for (const PlaceCounts& place : counted_) {
      for (const NicCounts& nic : place.nics) {
        if (nic.is_rdma != (kind_ == Kind::kRdmaError)) continue;
        ++all;
        std::vector<std::string> counts;
        for (const auto& [name, count] : nic.counts) {
          if (kind_of(name, nic.is_rdma) == kind_)
            counts.push_back(fmt::format("{} {}", name, count));
        }
        if (counts.empty()) continue;
        ++named_;
        add(place, nic, fmt::format("{}", fmt::join(counts, ", ")));
      }
    }
    const size_t fine = all - named_;
    if (fine > 0) {
      const char* const noun = kind_ == Kind::kRdmaError ? "RDMA ports" : "NICs";
      rows_.push_back({check(), fmt::format("{} of {} {}", fine, all, noun), "0", "0"});
    }
    return std::move(rows_);
  }

 private:
  std::string check() const { return std::string(kChecks[static_cast<size_t>(kind_)]); }

  void add(const PlaceCounts& place, const NicCounts& nic, const std::string& counts) {
    const auto link = place.links.find(nic.device);
    if (kind_ == Kind::kFlap && link != place.links.end()) {
      add_end(link->second, fmt::format("{} of {}: {}", nic.device, place.place, counts));
      return;
    }
    const std::string where =
        place.is_switch ? fmt::format("{} port {}", place.place, nic.device) : place.place;
    Row row{check(), where, fmt::format("{}: {}", nic.device, counts), "0"};
    if (kind_ == Kind::kFlap && !place.is_tested(nic.device)) {
      row.grade = Grade::kWarn;
      row.todo = "its link was lost while the test ran, which did not use this NIC";
    } else if (kind_ == Kind::kFlap) {
      row.grade = Grade::kFail;
      row.todo = kLost;
    } else if (kind_ == Kind::kDrop) {
      row.expected = "";  // full queues drop under load: no number is wrong
    } else if (kind_ == Kind::kError) {
      row.grade = Grade::kWarn;
      row.todo =
          "packets were damaged: clean or replace cable and optics, and see `ethtool -S` for "
          "which errors these are";
    } else {
      row.grade = Grade::kWarn;
      row.todo =
          "RoCE lost packets or waited: see that PFC or ECN is set alike on all ports of the "
          "route, and clean cable and optics";
    }
    rows_.push_back(std::move(row));
  }

  void add_end(const std::string& link, const std::string& measured) {
    const auto same =
        std::find_if(rows_.begin(), rows_.end(), [&](const Row& row) { return row.where == link; });
    if (same == rows_.end()) {
      rows_.push_back({check(), link, measured, "0", Grade::kFail, kLost});
    } else {
      same->measured += "; " + measured;
    }
  }

  Kind kind_;
  const std::vector<PlaceCounts>& counted_;
  std::vector<Row> rows_;
  size_t named_ = 0;  // NICs
};

Json json_of_places(const std::vector<PlaceCounts>& counted) {
  Json document = Json::array();
  for (const PlaceCounts& each : counted) {
    document.push_back({{"place", each.place},
                        {"switch", each.is_switch},
                        {"known", each.known},
                        {"nics", json_of(each.nics)}});
  }
  return document;
}

}  // namespace

bool PlaceCounts::is_tested(const std::string& device) const {
  return tested.empty() || device == tested ||
         std::find(below.begin(), below.end(), device) != below.end();
}

std::vector<PlaceCounts> counted_between(const std::vector<PlaceCounts>& before,
                                         const std::vector<PlaceCounts>& after) {
  std::vector<PlaceCounts> counted;
  for (size_t i = 0; i < before.size() && i < after.size(); ++i) {
    counted.push_back({after[i].place, after[i].is_switch, before[i].known && after[i].known,
                       grown(before[i].nics, after[i].nics), after[i].tested, after[i].links,
                       after[i].below, before[i].silent || after[i].silent});
  }
  return counted;
}

std::vector<Row> run_count_rows(const std::vector<PlaceCounts>& counted) {
  std::vector<Row> rows;
  for (const Kind kind : {Kind::kFlap, Kind::kError, Kind::kDrop, Kind::kRdmaError}) {
    for (Row& row : KindRows(kind, counted).make()) rows.push_back(std::move(row));
  }
  for (const PlaceCounts& place : counted) {
    if (place.known || place.silent) continue;
    rows.push_back(
        {"NIC errors", place.place, "not known", "0", Grade::kWarn,
         fmt::format("see whether {} answers, and install the same version of heddle there "
                     "as on the other hosts",
                     place.place)});
  }
  return rows;
}

std::vector<PlaceCounts> counts_in(const StageReport& stage) {
  std::vector<PlaceCounts> places;
  for (const Json& each : stage.data.value(kCounted, Json::array())) {
    const Json& nics = each.at("nics");
    if (!nics.is_array()) throw Json::other_error::create(501, "NICs are no list", nullptr);
    places.push_back({.place = each.at("place").get<std::string>(),
                      .is_switch = each.value("switch", false),
                      .known = each.value("known", true),
                      .nics = nic_counts_in(nics),
                      .tested = ""});
  }
  return places;
}

void add_counts(const std::vector<PlaceCounts>& more, std::vector<PlaceCounts>& counted) {
  for (PlaceCounts& place : counted) {
    for (const PlaceCounts& each : more) {
      if (each.place != place.place) continue;
      for (const NicCounts& then : each.nics) {
        for (NicCounts& now : place.nics) {
          if (now.device != then.device || now.is_rdma != then.is_rdma) continue;
          for (const auto& [name, count] : then.counts) now.counts[name] += count;
        }
      }
    }
  }
}

void set_run_counts(const std::vector<PlaceCounts>& counted, StageReport& stage) {
  const auto is_old = [](const Row& row) {
    return std::find(kChecks.begin(), kChecks.end(), row.check) != kChecks.end();
  };
  auto& rows = stage.rows;
  rows.erase(std::remove_if(rows.begin(), rows.end(), is_old), rows.end());
  for (Row& row : run_count_rows(counted)) rows.push_back(std::move(row));
  stage.data[kCounted] = json_of_places(counted);
  if (stage.outcome == StageOutcome::kPassed && grade_of(stage) == Grade::kFail) {
    stage.outcome = StageOutcome::kFailed;
  }
}

}  // namespace heddle::acceptance
