// See cluster_needs.h.
#include "planner/sizing/cluster_needs.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/quantity.h"
#include "planner/sizing/advised_values.h"
#include "planner/sizing/link_goodput.h"
#include "planner/sizing/params.h"

namespace heddle::planner {
namespace {

constexpr const char* kHierarchy =
    "reduced within a site first, so a GPU sends 2 (S - 1) / S of its part of it to the next site "
    "for an all-reduce, half for a gather: a ring of the S sites (Patarasu and Yuan, JPDC 2009, "
    "recalled)";
constexpr const char* kDistance = "heddle size distance";
using params::sizing::kLongBucket;
using params::sizing::kLongWait;

// The sums over all data movements.
struct SiteNeeds {
  explicit SiteNeeds(const ClusterPlan& plan)
      : link(plan.step.site_question()),
        capacity(link_capacity(link)),
        lossless(link_lossless(link, link.km)),
        goodput(link_goodput(link, link.km)),
        round_trip_s(plan.step.site_round_trip_s()),
        window_s(plan.step.window_s()) {
    for (const Movement& each : plan.data) {
      const double of_site = plan.step.gpus_of_site() * site_bytes(each);
      bytes += of_site;
      full_rate_s +=
          std::max({plan.step.nvlink_s(each), plan.step.nic_s(each), 8 * of_site / capacity});
      round_trips += plan.step.site_round_trips(each);
    }
  }

  double waiting_s() const { return round_trips * round_trip_s; }
  double alone_s() const { return 8 * bytes / goodput + waiting_s(); }
  // Of the cables, with headers; infinite where round trips alone take too long.
  double needed_bits_per_s() const {
    if (waiting_s() >= window_s) return INFINITY;
    return 8 * bytes / (window_s - waiting_s()) / kNicShare;
  }
  double gpu_window_bytes() const {
    return (capacity / 8 * round_trip_s + link.mtu_bytes) / link.queue_pairs;
  }
  double most_km() const {
    const double left = window_s - full_rate_s - round_trips * link.base_rtt_s;
    return std::max(0.0, left / (round_trips * 2 * kSecondsAKm));
  }

  const DistanceQuestion link;
  const double capacity;
  const double lossless;
  const double goodput;
  const double round_trip_s;
  const double window_s;
  double bytes = 0;  // that a site sends to the next in a step
  double round_trips = 0;
  double full_rate_s = 0;  // of the exchange, with links that are full and no round trips
};

Figure site_bytes_figure(const ClusterPlan& plan, const SiteNeeds& needs) {
  Figure figure{.name = "site_bytes",
                .meaning = "gradients and parameters that a site sends to the next",
                .formula = "",
                .terms = {{"n", "GPUs of a site", plan.step.gpus_of_site(), ""}},
                .value = needs.bytes,
                .unit = "B",
                .source = kHierarchy};
  for (const Movement& each : plan.data) {
    figure.formula += (figure.formula.empty() ? "" : " + ") + each.name;
    figure.terms.push_back({each.name, each.meaning + ", of a GPU", site_bytes(each), "B"});
  }
  figure.formula = "n * (" + figure.formula + ")";
  return figure;
}

void add_goodput(const ClusterPlan& plan, const SiteNeeds& needs, Answer& answer) {
  const SiteLink& link = plan.question.site_link;
  const bool limited = link.gpu_window_bytes > 0;
  Figure lossless{"site_lossless_bits_per_s",
                  "goodput between sites without loss",
                  "X",
                  {{"X", "payload that the link carries at most", needs.capacity, "b/s"}},
                  needs.lossless,
                  "b/s",
                  kDistance};
  if (limited) {
    lossless.formula = "min(X, n * w * 8 / (R + m * 8 / X))";
    lossless.terms.push_back({"n", "GPUs of a site", needs.link.queue_pairs, ""});
    lossless.terms.push_back({"w", "window of a GPU", link.gpu_window_bytes, "B"});
    lossless.terms.push_back({"R", "round trip", needs.round_trip_s, "s"});
    lossless.terms.push_back({"m", "payload of a packet", needs.link.mtu_bytes, "B"});
  }
  answer.figures.push_back({"site_round_trip_s",
                            "round trip between sites",
                            "r + 2 * d * 5e-6",
                            {{"r", "without cables between sites", needs.link.base_rtt_s, "s"},
                             {"d", "from a site to the next", link.km, "km"}},
                            needs.round_trip_s,
                            "s",
                            "5 us a kilometer: light in fibre"});
  answer.figures.push_back(std::move(lossless));
  answer.figures.push_back(
      {"site_goodput_bits_per_s",
       link.go_back_n ? "goodput between sites with loss, go-back-N"
                      : "goodput between sites with loss, selective repeat",
       "G * (1 - p) / (1 - p + p * N)",
       {{"G", "without loss", needs.lossless, "b/s"},
        {"p", "loss of packets", link.loss, ""},
        {"N", "packets that a loss repeats", link_repeated(needs.link, link.km), ""}},
       needs.goodput,
       "b/s",
       kDistance});
}

void add_rates(const SiteNeeds& needs, Answer& answer) {
  const Term bytes{"B", "sent to the next site", needs.bytes, "B"};
  const Term waiting{"c", "round trips one after the other", needs.round_trips, ""};
  const Term round_trip{"R", "round trip between sites", needs.round_trip_s, "s"};
  const Term window{"w", "computation beside the exchange", needs.window_s, "s"};
  answer.figures.push_back({"site_s",
                            "exchange between sites, alone",
                            "8 * B / G + c * R",
                            {bytes, {"G", "goodput", needs.goodput, "b/s"}, waiting, round_trip},
                            needs.alone_s(),
                            "s",
                            kHierarchy});
  if (std::isfinite(needs.needed_bits_per_s())) {
    answer.figures.push_back(
        {"needed_site_bits_per_s",
         "rate from a site to the next, with headers and without loss, at "
         "which the exchange fits",
         "8 * B / (w - c * R) / y",
         {bytes, window, waiting, round_trip, {"y", "payload of full packets", kNicShare, ""}},
         needs.needed_bits_per_s(),
         "b/s",
         "compare it with the rate of all cables from a site to the next"});
  }
  if (needs.most_km() == 0) return;  // it does not fit at any distance
  answer.figures.push_back(
      {"site_most_km",
       "distance from a site to the next at which the exchange fits, without loss",
       "max(0, (w - f - c * r) / (c * 2 * 5e-6))",
       {window,
        {"f", "exchange with full links and no round trips", needs.full_rate_s, "s"},
        waiting,
        {"r", "round trip without cables between sites", needs.link.base_rtt_s, "s"}},
       needs.most_km(),
       "km",
       "windows grow with the distance, and fill the link"});
}

void add_buffers(const ClusterPlan& plan, const SiteNeeds& needs, Answer& answer) {
  const double rate = plan.question.site_link.bits_per_s;
  const Term cable{"C", "rate of the cables from a site to the next", rate, "b/s"};
  const Term round_trip{"R", "round trip between sites", needs.round_trip_s, "s"};
  const Term gpus{"n", "GPUs of a site, each with a connection", needs.link.queue_pairs, ""};
  const double product = rate * needs.round_trip_s / 8;
  answer.figures.push_back({"site_window_bytes",
                            "window of a GPU that fills the link together with the others",
                            "(X / 8 * R + m) / n",
                            {{"X", "payload that the link carries at most", needs.capacity, "b/s"},
                             round_trip,
                             {"m", "payload of a packet", needs.link.mtu_bytes, "B"},
                             gpus},
                            needs.gpu_window_bytes(),
                            "B",
                            "Little's law; heddle size distance"});
  answer.figures.push_back(
      {"site_buffer_bytes",
       "buffer before the link, where it may drop packets",
       "C * R / 8 / sqrt(n)",
       {cable, round_trip, gpus},
       product / std::sqrt(needs.link.queue_pairs),
       "B",
       "Appenzeller, Keslassy and McKeown, Sizing router buffers (SIGCOMM 2004, recalled)"});
  answer.figures.push_back(
      {"site_lossless_buffer_bytes",
       "buffer behind the link, where PFC pauses it, beside the headroom's largest frames",
       "C * R / 8",
       {cable, round_trip},
       product,
       "B",
       "what arrives after a pause was sent; heddle size headroom has the other terms"});
}

struct Limit {
  const char* name;
  double bytes = 0;
  double alone_s = 0;
};

std::vector<Limit> limits_of(const ClusterPlan& plan) {
  std::vector<Limit> limits = {{"NVLink"}, {"NICs of a GPU"}};
  for (const Movement& each : plan.data) {
    limits[0].bytes += nvlink_bytes(each);
    limits[0].alone_s += plan.step.nvlink_s(each);
    limits[1].bytes += nic_bytes(each);
    limits[1].alone_s += plan.step.nic_s(each);
  }
  if (plan.job.sites > 1) {
    const SiteNeeds needs(plan);
    limits.push_back({"a site's link to the next", needs.bytes, needs.alone_s()});
  }
  return limits;
}

std::string time_text(double seconds) { return duration_text(nanos(std::llround(seconds * 1e9))); }

std::string nic_advice(const ClusterPlan& plan, double needed) {
  const double there = plan.question.fabric.nic_bits_per_s;
  if (needed <= there) {
    return "NVLink limits the exchange of gradients: faster NICs would not help";
  }
  return fmt::format(
      "the network is the bottleneck: give each GPU NICs of {} where there are {}, or {} "
      "times the tokens of a microbatch where memory allows it{}",
      rate_at_least_text(needed), rate_text(there), times_at_least_text(needed / there),
      plan.question.fabric.oversubscription > 1 ? ", or a fabric of 1:1" : "");
}

std::string distance_advice(const ClusterPlan& plan, const SiteNeeds& needs) {
  return fmt::format(
      "the distance between sites is the bottleneck: round trips over {:g} km take {}, the whole "
      "exchange {}, the computation beside it {}; give sites nearer to each other, more tokens a "
      "microbatch, or a lower stage of ZeRO",
      plan.question.site_link.km, time_text(needs.waiting_s()), time_text(plan.step.data_s()),
      time_text(needs.window_s));
}

std::string site_advice(const ClusterPlan& plan, const SiteNeeds& needs) {
  const SiteLink& link = plan.question.site_link;
  if (!std::isfinite(needs.needed_bits_per_s())) return distance_advice(plan, needs);
  std::string text = "the links between sites are the bottleneck: ";
  if (needs.needed_bits_per_s() > link.bits_per_s) {
    text += fmt::format(
        "give {} from a site to the next where there are {}, or more tokens a "
        "microbatch",
        rate_at_least_text(needs.needed_bits_per_s()), rate_text(link.bits_per_s));
  } else if (needs.lossless < 0.95 * needs.capacity) {
    text += fmt::format("give each GPU a window of {} B",
                        count_text(static_cast<uint64_t>(std::ceil(needs.gpu_window_bytes()))));
  } else {
    text += link.go_back_n ? "a loss repeats all in flight: use selective repeat"
                           : "repair what loses packets";
  }
  if (needs.waiting_s() > kLongWait * needs.window_s) {
    text += fmt::format(
        "; round trips over {:g} km take {} of the {} beside the exchange: nearer "
        "sites need less",
        link.km, time_text(needs.waiting_s()), time_text(needs.window_s));
  }
  return text;
}

// Where all but the last bucket is hidden.
std::string hidden_advice(const ClusterPlan& plan, double needed) {
  std::string text = fmt::format(
      "the network is not the bottleneck: the exchange of gradients needs {} of {} a GPU",
      rate_at_least_text(needed), rate_text(plan.question.fabric.nic_bits_per_s));
  if (plan.job.sites > 1) {
    const SiteNeeds needs(plan);
    text += fmt::format(", and {} of {} from a site to the next",
                        rate_at_least_text(needs.needed_bits_per_s()),
                        rate_text(plan.question.site_link.bits_per_s));
  }
  return text +
         fmt::format("; its last bucket, {}, is exposed", time_text(plan.step.last_bucket_s()));
}

// Where the exchange does not fit: what carries it too slowly, each alone or only together.
void add_bottlenecks(const ClusterPlan& plan, double needed, Answer& answer) {
  const std::vector<Limit> limits = limits_of(plan);
  const double window_s = plan.step.window_s();
  const double inside_s = std::max(limits[0].alone_s, limits[1].alone_s);
  const bool apart = plan.job.sites > 1;
  const bool between = apart && limits.back().alone_s > window_s;
  const bool slowest = between && limits.back().alone_s >= inside_s;
  if (slowest) answer.advice.push_back(site_advice(plan, SiteNeeds(plan)));
  if (inside_s > window_s || !apart) answer.advice.push_back(nic_advice(plan, needed));
  if (between && !slowest) answer.advice.push_back(site_advice(plan, SiteNeeds(plan)));
  // Each fits, but round trips between sites come on top of what NICs take.
  if (apart && !between && inside_s <= window_s) {
    answer.advice.push_back(distance_advice(plan, SiteNeeds(plan)));
  }
}

void add_last_bucket(const ClusterPlan& plan, Answer& answer) {
  const double share = plan.step.last_bucket_s() / plan.step.step_s();
  if (share < kLongBucket) return;
  std::string text = fmt::format(
      "the last bucket is {:.0f}% of the step: smaller buckets shorten it", 100 * share);
  if (plan.job.sites > 1) {
    text += fmt::format("; each waits for round trips of {} between sites",
                        time_text(plan.step.site_round_trip_s()));
  }
  answer.advice.push_back(std::move(text));
}

}  // namespace

void add_fabric_needs(const ClusterPlan& plan, Answer& answer) {
  const auto gpus = static_cast<double>(plan.job.gpus);
  const double bytes = plan.step.data_nic_bytes();
  answer.figures.push_back({"needed_bisection_bits_per_s",
                            "rate between the halves of the job, in one direction, at which the "
                            "exchange fits wherever ranks are",
                            "N / 2 * 8 * B / w / y",
                            {{"N", "GPUs", gpus, ""},
                             {"B", "sent through the NIC", bytes, "B"},
                             {"w", "computation beside the exchange", plan.step.window_s(), "s"},
                             {"y", "payload of full packets", kNicShare, ""}},
                            gpus / 2 * 8 * bytes / plan.step.window_s() / kNicShare,
                            "b/s",
                            "all that NICs send crosses the middle"});
  const double rate = plan.question.fabric.nic_bits_per_s;
  const double round_trip_s = plan.question.base_rtt_s;
  answer.figures.push_back({"port_buffer_bytes",
                            "buffer of a port towards a GPU's NICs that keeps them busy while one "
                            "sender backs off: a round trip",
                            "C * r / 8",
                            {{"C", "rate of the NICs of a GPU", rate, "b/s"},
                             {"r", "round trip of hosts and switches", round_trip_s, "s"}},
                            rate * round_trip_s / 8,
                            "B",
                            "Villamizar and Song, High performance TCP in ANSNET (CCR 1994, "
                            "recalled); for PFC: heddle size headroom"});
}

void add_site_needs(const ClusterPlan& plan, Answer& answer) {
  const SiteNeeds needs(plan);
  answer.figures.push_back(site_bytes_figure(plan, needs));
  add_goodput(plan, needs, answer);
  add_rates(needs, answer);
  add_buffers(plan, needs, answer);
}

void add_limits(const ClusterPlan& plan, Answer& answer) {
  Table table{.name = "limits",
              .title = "The exchange of gradients and parameters, by what carries it",
              .columns = {{"carrier", "", ""},
                          {"bytes", "bytes", "B"},
                          {"alone_s", "alone", "s"},
                          {"window_percent", "of the computation beside it", "%"}},
              .rows = {}};
  for (const Limit& each : limits_of(plan)) {
    table.rows.push_back(
        {each.name, each.bytes, each.alone_s, 100 * each.alone_s / plan.step.window_s()});
  }
  answer.tables.push_back(std::move(table));
}

void add_cluster_advice(const ClusterPlan& plan, Answer& answer) {
  const double needed = answer.figure("needed_wire_bits_per_s").value;
  if (plan.step.data_nic_bytes() == 0) {
    answer.advice.emplace_back("the replicas exchange nothing through NICs");
  } else if (plan.step.fits()) {
    answer.advice.push_back(hidden_advice(plan, needed));
  } else {
    add_bottlenecks(plan, needed, answer);
  }
  add_last_bucket(plan, answer);
  if (plan.job.pipeline > 1 && plan.step.bubble_share() > 0.1) {
    answer.advice.push_back(fmt::format(
        "the pipeline's bubble is {:.0f}% of the computation: more microbatches or chunks shorten "
        "it",
        100 * plan.step.bubble_share()));
  }
}

}  // namespace heddle::planner
