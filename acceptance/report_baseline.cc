// See report_baseline.h.
#include "acceptance/report_baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "acceptance/params.h"
#include "acceptance/report_document.h"

namespace heddle::acceptance {
namespace {

// The worst shares of what was allowed; 2: none was measured.
struct Worst {
  double pair = 2;        // of heddle, and of RC where it is judged
  double collective = 2;  // of a large all-reduce, reduce-scatter or all-gather
  double all_to_all = 2;
  double incast = 2;
  double training = 2;  // speed of a step, of the formula's
  double victim_us = 0;
  double retransmitted = 0;  // share of the segments of a permutation
  double link = 2;           // highest rate of a link, of what it could carry
  double errors = -1;        // share of a link's packets; below 0: none was measured
};

void take_worst(const Json& report, Worst& worst) {
  const auto share = [](const Json& from, const char* reached, const char* allowed) {
    const double most = from.value(allowed, 0.0);
    return most > 0 ? from.value(reached, 0.0) / most : 2;
  };
  const auto take_least = [&share](double& least, const Json& collective) {
    least = std::min(least, share(collective, "bus_bits_per_s", "bound_bits_per_s"));
  };
  if (const Json* const pairs = stage_data(report, "pairs", "pairs")) {
    for (const Json& pair : *pairs) {
      worst.pair = std::min(worst.pair, share(pair, "goodput_bits_per_s", "allowed_bits_per_s"));
      worst.pair = std::min(worst.pair, share(pair, "rc_bw_bits_per_s", "rc_allowed_bits_per_s"));
    }
  }
  if (const Json* const nics = stage_data(report, "pairs", "nic_pairs")) {
    for (const Json& pair : *nics) {
      if (pair.value("planned", false)) {
        worst.pair = std::min(worst.pair, share(pair, "goodput_bits_per_s", "allowed_bits_per_s"));
      }
    }
  }
  if (const Json* const links = stage_data(report, "pairs", "links")) {
    const double least = links->value("least_share", 0.0);
    if (least > 0) worst.link = std::min(worst.link, least);
    worst.errors = std::max(worst.errors, links->value("errors_per_million", 0.0) / 1e6);
  }
  if (const Json* const sizes = stage_data(report, "collectives", "sizes");
      sizes != nullptr && !sizes->empty()) {
    take_least(worst.collective, sizes->back());
  }
  if (const Json* const others = stage_data(report, "collectives", "others")) {
    for (const Json& each : *others) {
      take_least(each.at("test") == "alltoall" ? worst.all_to_all : worst.collective, each);
    }
  }
  if (const Json* const load = stage_data(report, "stress", "all_to_all")) {
    take_least(worst.all_to_all, *load);
  }
  if (const Json* const trained = stage_data(report, "training", "built_in")) {
    worst.training = std::min(worst.training, share(*trained, "ideal_step_s", "step_s"));
  }
  for (const char* const load : {"permutation", "incast"}) {
    const Json* const found = stage_data(report, "stress", load);
    if (found == nullptr) continue;
    if (std::string_view(load) == "incast") {
      worst.incast =
          std::min(worst.incast, share(*found, "goodput_bits_per_s", "allowed_bits_per_s"));
      continue;  // what it retransmits is not judged
    }
    double segments = 0;
    double again = 0;
    for (const Json& flow : found->at("flows")) {
      segments += flow.value("segments", 0.0);
      again += flow.value("retransmitted", 0.0);
    }
    if (segments > 0) worst.retransmitted = std::max(worst.retransmitted, again / segments);
  }
  if (const Json* const victim = stage_data(report, "stress", "victim")) {
    worst.victim_us = std::max(worst.victim_us, victim->value("half_round_trip_us_p99", 0.0));
  }
}

// Labels and rates of the links.
std::vector<std::pair<std::string, double>> fabric_of(const Json& report) {
  std::vector<std::pair<std::string, double>> links;
  for (const Json& link : report.value("links", Json::array())) {
    links.emplace_back(link.at("label").get<std::string>(),
                       link.at("rate_bits_per_s").get<double>());
  }
  return links;
}

// What of the reports makes their figures less than they might be, as comments of the file.
std::string notes_of(const std::vector<Json>& reports) {
  std::map<std::string, size_t> depths;
  size_t disturbed = 0;
  for (const Json& report : reports) {
    const auto depth = report.at("depth").get<std::string>();
    for (const char* const each : {"quick", "normal", "full"}) depths[each] += depth == each;
    const bool busy = report.at("others_busy_share") > params::kDisturbed;
    disturbed += report.at("emulated") == true && busy;
  }
  std::string mixed;
  size_t kinds = 0;
  for (const auto& [depth, count] : depths) {
    if (count == 0) continue;
    mixed += fmt::format("{}{} {}", kinds++ == 0 ? "" : ", ", count, depth);
  }
  std::string text;
  if (kinds > 1) {
    text += fmt::format("# Their depths differ: {}; short measurements reach less.\n", mixed);
  }
  if (disturbed > 0) {
    text += fmt::format("# Other programs disturbed {} of them: thresholds may be too low.\n",
                        disturbed);
  }
  return text;
}

}  // namespace

Result<std::string> baseline_of(const std::vector<Json>& reports, double margin) {
  Worst worst;
  std::string notes;
  try {
    for (const Json& report : reports) {
      if (report.at("verdict") != "PASS" && report.at("verdict") != "WARN") {
        return fail(ErrorCode::kInvalid, "cannot take this report as a baseline",
                    fmt::format("its verdict is {}", report.at("verdict").get<std::string>()),
                    "give reports of a fabric that is as it should be");
      }
      if (fabric_of(report) != fabric_of(reports.front())) {
        return fail(ErrorCode::kInvalid, "cannot make a baseline of these reports",
                    fmt::format("their fabrics differ in links or rates: '{}' and '{}'",
                                reports.front().at("fabric").get<std::string>(),
                                report.at("fabric").get<std::string>()),
                    "give reports of one fabric");
      }
      take_worst(report, worst);
    }
    notes = notes_of(reports);
  } catch (const Json::exception& error) {
    return fail(no_report(error.what()));
  }
  if (worst.pair > 1.9 && worst.collective > 1.9) {
    return fail(ErrorCode::kInvalid, "cannot make a baseline", "these reports measured no speed",
                "give reports of whole tests, of links whose rates are known");
  }
  std::string text =
      fmt::format("# What {} earlier {} of this fabric reached, less {:.0f}%.\n{}version = 1\n",
                  reports.size(), reports.size() == 1 ? "test" : "tests", margin * 100, notes);
  const auto add = [&](const char* key, double share) {
    if (share > 1.9) return;
    text += fmt::format("{} = \"{:.1f}%\"\n", key, std::min(1.0, share) * (1 - margin) * 100);
  };
  add("pair_share", worst.pair);
  add("link_share", worst.link);
  add("collective_share", worst.collective);
  add("all_to_all_share", worst.all_to_all);
  add("training_share", worst.training);
  add("incast_share", worst.incast);
  const double again = std::max(params::kFewRetransmitted, worst.retransmitted * (1 + margin));
  text += fmt::format("retransmitted = \"{:.2f}%\"\n", std::min(params::kMostLost, again) * 100);
  if (worst.errors >= 0) {
    const double errors = std::max(params::kFewErrors, worst.errors * (1 + margin));
    text += fmt::format("errors = \"{:.4f}%\"\n", std::min(params::kMostLost, errors) * 100);
  }
  if (worst.victim_us > 0) {
    text +=
        fmt::format("victim_latency = \"{:.0f}us\"\n", std::ceil(worst.victim_us * (1 + margin)));
  }
  return text;
}

}  // namespace heddle::acceptance
