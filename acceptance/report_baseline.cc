// See report_baseline.h.
#include "acceptance/report_baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "acceptance/report_document.h"

namespace heddle::acceptance {
namespace {

// The worst shares of what was allowed; 2: none was measured.
struct Worst {
  double pair = 2;
  double collective = 2;
  double incast = 2;
  double training = 2;  // speed of a step, of the formula's
  double victim_us = 0;
  double retransmitted = 0;  // share of the segments of a load
};

void take_worst(const Json& report, Worst& worst) {
  const auto share = [](const Json& from, const char* reached, const char* allowed) {
    const double most = from.value(allowed, 0.0);
    return most > 0 ? from.value(reached, 0.0) / most : 2;
  };
  if (const Json* const pairs = stage_data(report, "pairs", "pairs")) {
    for (const Json& pair : *pairs) {
      worst.pair = std::min(worst.pair, share(pair, "goodput_bits_per_s", "allowed_bits_per_s"));
    }
  }
  if (const Json* const sizes = stage_data(report, "collectives", "sizes");
      sizes != nullptr && !sizes->empty()) {
    worst.collective =
        std::min(worst.collective, share(sizes->back(), "bus_bits_per_s", "bound_bits_per_s"));
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

}  // namespace

Result<std::string> baseline_of(const std::vector<Json>& reports, double margin) {
  Worst worst;
  try {
    for (const Json& report : reports) {
      if (report.at("verdict") != "PASS" && report.at("verdict") != "WARN") {
        return fail(ErrorCode::kInvalid, "cannot take this report as a baseline",
                    fmt::format("its verdict is {}", report.at("verdict").get<std::string>()),
                    "give reports of a fabric that is as it should be");
      }
      take_worst(report, worst);
    }
  } catch (const Json::exception& error) {
    return fail(no_report(error.what()));
  }
  if (worst.pair > 1.9 && worst.collective > 1.9) {
    return fail(ErrorCode::kInvalid, "cannot make a baseline", "these reports measured no speed",
                "give reports of whole tests, of links whose rates are known");
  }
  std::string text =
      fmt::format("# What {} earlier {} of this fabric reached, less {:.0f}%.\nversion = 1\n",
                  reports.size(), reports.size() == 1 ? "test" : "tests", margin * 100);
  const auto add = [&](const char* key, double share) {
    if (share > 1.9) return;
    text += fmt::format("{} = \"{:.1f}%\"\n", key, std::min(1.0, share) * (1 - margin) * 100);
  };
  add("pair_share", worst.pair);
  add("collective_share", worst.collective);
  add("training_share", worst.training);
  add("incast_share", worst.incast);
  const double again = std::max(0.001, worst.retransmitted * (1 + margin));  // a few are chance
  text += fmt::format("retransmitted = \"{:.2f}%\"\n", std::min(1.0, again) * 100);
  if (worst.victim_us > 0) {
    text +=
        fmt::format("victim_latency = \"{:.0f}us\"\n", std::ceil(worst.victim_us * (1 + margin)));
  }
  return text;
}

}  // namespace heddle::acceptance
