// See size_distance.h.
#include "planner/size_distance.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/quantity.h"
#include "planner/sizing/link_goodput.h"

namespace heddle::planner {
namespace {

constexpr const char* kClosedLoop =
    "a closed loop with one server (Little's law); IBTA volume 1: a write completes when its last "
    "packet is acknowledged";

Figure repeated_figure(const DistanceQuestion& question) {
  Figure figure{.name = "repeated_packets",
                .meaning = "packets that a loss repeats",
                .formula = "1",
                .terms = {},
                .value = link_repeated(question, question.km),
                .unit = "",
                .source = "selective repeat: the lost packet alone"};
  if (!question.go_back_n) return figure;
  figure.formula = "max(1, G * R / (8 * m * q))";
  figure.terms = {{"G", "goodput without loss", link_lossless(question, question.km), "b/s"},
                  {"R", "round trip", link_round_trip_s(question, question.km), "s"},
                  {"m", "payload of a packet", question.mtu_bytes, "B"},
                  {"q", "queue pairs", question.queue_pairs, ""}};
  figure.source = "go-back-N: all that one queue pair has in flight";
  return figure;
}

void add_figures(const DistanceQuestion& question, Answer& answer) {
  const double rtt = link_round_trip_s(question, question.km);
  answer.figures = {
      {"round_trip_s",
       "round trip",
       "r + 2 * d * 5e-6",
       {{"r", "round trip without the cable", question.base_rtt_s, "s"},
        {"d", "length of the cable", question.km, "km"}},
       rtt,
       "s",
       "5 us a kilometer: light in fibre"},
      {"capacity_bits_per_s",
       "payload that the link carries at most",
       "C * m / (m + 82)",
       {{"C", "rate of the link", question.link_bits_per_s, "b/s"},
        {"m", "payload of a packet", question.mtu_bytes, "B"}},
       link_capacity(question),
       "b/s",
       "headers of RoCEv2 over Ethernet: 38 + 20 + 8 + 12 + 4 bytes"},
      {"lossless_bits_per_s",
       "goodput without loss",
       "min(X, q * w * M * 8 / (R + M * 8 / X))",
       {{"X", "payload capacity", link_capacity(question), "b/s"},
        {"q", "queue pairs", question.queue_pairs, ""},
        {"w", "outstanding messages of a queue pair", question.outstanding, ""},
        {"M", "message", question.message_bytes, "B"},
        {"R", "round trip", rtt, "s"}},
       link_lossless(question, question.km),
       "b/s",
       kClosedLoop},
      repeated_figure(question),
      {"goodput_bits_per_s",
       question.go_back_n ? "goodput with loss, go-back-N" : "goodput with loss, selective repeat",
       "G * (1 - p) / (1 - p + p * N)",
       {{"G", "goodput without loss", link_lossless(question, question.km), "b/s"},
        {"p", "loss of packets", question.loss, ""},
        {"N", "packets that a loss repeats", link_repeated(question, question.km), ""}},
       link_goodput(question, question.km),
       "b/s",
       "Bertsekas and Gallager, Data Networks, section 2.4 (recalled)"},
      {"outstanding_needed_bytes",
       "outstanding data that fills the link",
       "X / 8 * R + M",
       {{"X", "payload capacity", link_capacity(question), "b/s"},
        {"R", "round trip", rtt, "s"},
        {"M", "message", question.message_bytes, "B"}},
       link_capacity(question) / 8 * rtt + question.message_bytes,
       "B",
       kClosedLoop}};
}

// Products of what users give have no bound.
std::string bytes_text(double bytes) {
  constexpr double kCounted = 1e18;
  return bytes < kCounted ? count_text(static_cast<uint64_t>(bytes)) : fmt::format("{:.3g}", bytes);
}

void add_advice(const DistanceQuestion& question, Answer& answer) {
  const double needed = answer.figure("outstanding_needed_bytes").value;
  const double bytes = link_outstanding_bits(question) / 8;
  if (bytes < needed) {
    const double more = std::ceil(needed / (question.message_bytes * question.queue_pairs));
    answer.advice.push_back(fmt::format(
        "too little is outstanding ({} B of {} B): give {} messages a queue pair, or {} queue "
        "pairs, or larger messages; an accelerator that acknowledges near the sender also helps",
        bytes_text(bytes), bytes_text(needed), more,
        std::ceil(needed / (question.message_bytes * question.outstanding))));
  }
  if (question.loss > 0 &&
      link_goodput(question, question.km) < 0.95 * link_lossless(question, question.km)) {
    answer.advice.push_back(
        question.go_back_n
            ? "loss takes more than 5%: use selective repeat, or spread over more queue pairs"
            : "loss takes more than 5%: repair the link");
  }
  if (answer.advice.empty()) answer.advice.emplace_back("the link is full; nothing to change");
}

}  // namespace

Result<Answer> size_distance(const DistanceQuestion& question) {
  const auto wrong = [](const char* why, const char* todo) {
    return fail(ErrorCode::kInvalid, "no such link", why, todo);
  };
  if (!(question.km >= 0) || question.km > 40'000) {
    return wrong("a cable has 0 to 40,000 km", "correct --km");
  }
  if (!(question.loss >= 0) || question.loss >= 1) {
    return wrong("loss is a share from 0 to below 1", "correct --loss");
  }
  if (!(question.link_bits_per_s > 0) || !(question.message_bytes >= 1) ||
      !(question.outstanding >= 1) || !(question.queue_pairs >= 1) || !(question.mtu_bytes >= 1) ||
      !(question.base_rtt_s >= 0)) {
    return wrong("rates and sizes are above 0", "correct the one that is not");
  }
  Answer answer;
  answer.title = fmt::format("{} km of {}", question.km, rate_text(question.link_bits_per_s));
  add_figures(question, answer);
  add_advice(question, answer);
  Chart chart{.title = "Goodput over distance",
              .x = {"distance", "km", true},
              .y = {"goodput", "b/s", false},
              .curves = {{"as asked", {}}, {"with 10 times as many queue pairs", {}}}};
  DistanceQuestion more = question;
  more.queue_pairs *= 10;
  for (double km = 1; km < 4'000; km *= 1.25) {
    chart.curves[0].points.emplace_back(km, link_goodput(question, km));
    chart.curves[1].points.emplace_back(km, link_goodput(more, km));
  }
  answer.charts.push_back(std::move(chart));
  answer.assumptions = {"losses are independent; a queue pair has its share of what is in flight",
                        "no congestion control slows the sender"};
  return answer;
}

}  // namespace heddle::planner
