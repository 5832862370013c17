// See size_sites.h.
#include "planner/size_sites.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "base/quantity.h"
#include "planner/sizing/params.h"
#include "planner/sizing/surplus_hours.h"

namespace heddle::planner {
namespace {

constexpr double kDaysOfMonth = 365.25 / 12;
constexpr size_t kHoursOfDay = 24;
// A year, with a day more.
constexpr size_t kMostHours = 8'784;
// Of the table and the chart over the distance.
constexpr std::array kDistances = {0.0, 10.0, 100.0, 300.0, 1'000.0, 3'000.0};

// A way to run the job, with what it costs.
struct Way {
  std::string name;
  const char* figure = nullptr;  // of its cost
  double gpu_hours = 0;
  double useful = 0;
  double surplus_hours = 0;  // of the GPU-hours, those on surplus; the others are on the grid
  double link = 0;           // of all hours
};

class SitesAnswer {
 public:
  SitesAnswer(const ModelShape& model, const JobShape& job, const SitesQuestion& question)
      : model_(model), job_(job), question_(question), sites_(model, job, question) {}

  Answer make() {
    hours_ = sites_.run(true);
    sum_ = sites_.sum_of(hours_);
    moving_ = sites_.sum_of(sites_.run(false));
    find_best();
    const SiteLink& link = question_.cluster.site_link;
    const std::string apart = sites_.sites() > 1 ? fmt::format(", {:g} km apart", link.km) : "";
    answer_.title =
        fmt::format("{} on {} {} in {}{}, on the surplus of {}", model_.name, count_text(job_.gpus),
                    question_.cluster.gpu.name, counted_text(sites_.sites(), "site"), apart,
                    counted_text(sites_.hours(), "hour"));
    answer_.sound = sum_.gpu_hours > 0;
    add_power();
    add_hours();
    add_comparison();
    add_hour_table();
    add_distances();
    if (question_.prices.known()) add_prices();
    add_advice();
    add_assumptions();
    return std::move(answer_);
  }

 private:
  double days() const { return static_cast<double>(sites_.hours()) / kHoursOfDay; }
  bool several() const { return sites_.sites() > 1; }

  void find_best() {
    for (size_t site = 0; site < sites_.sites(); ++site) {
      const SurplusSum sum = sites_.one_site(site);
      if (site > 0 && sum.useful() <= best_.useful()) continue;
      best_ = sum;
      best_site_ = site;
    }
  }

  void add_power() {
    answer_.figures.push_back(
        {"gpu_kw",
         "power of a GPU with its share of the host and the building, in kW",
         "(P + o) * u / 1000",
         {{"P", "watts of the GPU", question_.cluster.gpu.watts, ""},
          {"o", "watts of its share of the host", question_.host_watts, ""},
          {"u", "power of the building over that of hosts (PUE)", question_.pue, ""}},
         sites_.gpu_kw(),
         "",
         question_.cluster.gpu.source});
    Figure surplus{"surplus_kwh", "surplus of all sites and hours, in kWh", "", {}, 0, "", ""};
    for (size_t site = 0; site < sites_.sites(); ++site) {
      double sum = 0;
      for (const double kwh : question_.surplus[site].kwh) sum += kwh;
      const std::string symbol = fmt::format("s{}", site + 1);
      surplus.formula += (site > 0 ? " + " : "") + symbol;
      surplus.terms.push_back({symbol, question_.surplus[site].name, sum, ""});
      surplus.value += sum;
    }
    surplus.source = "--surplus";
    answer_.figures.push_back(std::move(surplus));
  }

  void add_hours() {
    const Term all{"G", "GPU-hours that run", sum_.gpu_hours, ""};
    const Term computed{"C", "of them, computing or moving", sum_.computing, ""};
    const Term moved{"m", "lost for copies of the model's state", sum_.move_hours, ""};
    answer_.figures.push_back(
        {"powered_gpu_hours",
         "GPU-hours that run on the surplus: with all sites joined, or at one site where that "
         "computes more",
         "J + A",
         {{"J", "with all sites joined, in equal shares", sum_.joined_hours, ""},
          {"A", "at one site", sum_.gpu_hours - sum_.joined_hours, ""}},
         sum_.gpu_hours,
         "",
         "table hours; whole replicas only"});
    answer_.figures.push_back({"exposed_gpu_hours",
                               "GPU-hours that wait for the exchange of gradients and parameters",
                               "G - C",
                               {all, computed},
                               sum_.gpu_hours - sum_.computing,
                               "",
                               "exposed time of each hour's step: heddle size cluster"});
    const double goodput = move_bits();
    answer_.figures.push_back(
        {"move_s",
         "time to copy the model's state to a site that joins",
         "8 * n * b / g",
         {{"n", "parameters", static_cast<double>(parameters(model_)), ""},
          {"b", "bytes of a parameter and its optimizer states",
           static_cast<double>(job_.parameter_bytes) + question_.cluster.optimizer_bytes, "B"},
          {"g", "goodput of the link between sites", goodput, "b/s"}},
         8 * sites_.state_bytes() / goodput,
         "s",
         "heddle size distance; the job waits for it"});
    answer_.figures.push_back({"useful_gpu_hours",
                               "GPU-hours of computation",
                               "C - m",
                               {computed, moved},
                               sum_.useful(),
                               "",
                               "definition"});
  }

  double move_bits() {
    for (const SurplusHour& each : hours_) {
      if (each.gpus > 0) return sites_.step_of(each.gpus, each.sites)->site_bits;
    }
    const auto step = sites_.calculated(job_.gpus, sites_.sites(), question_.cluster.site_link.km);
    return step->site_bits;  // the whole job was resolved
  }

  void add_comparison() {
    const double one = best_.useful();
    answer_.figures.push_back(
        {"one_site_useful_gpu_hours",
         "the same with all GPUs at the site that gives most: " + best_name(),
         "G - e",
         {{"G", "GPU-hours that run on its surplus", best_.gpu_hours, ""},
          {"e", "of them, waiting for the exchange", best_.gpu_hours - one, ""}},
         one,
         "",
         "table hours, for one site"});
    if (one <= 0) return;
    answer_.figures.push_back({"sites_gain",
                               "computation that all sites give more than one, a share",
                               "U / B - 1",
                               {{"U", "GPU-hours of computation, sites joined", sum_.useful(), ""},
                                {"B", "of the best site alone", one, ""}},
                               sum_.useful() / one - 1,
                               "",
                               "definition"});
    if (!several()) return;
    answer_.figures.push_back(
        {"moving_useful_gpu_hours",
         "the same with the job at one site at a time, which may change at the hour",
         "C - m",
         {{"C", "GPU-hours computing or moving", moving_.computing, ""},
          {"m", "lost for copies of the model's state", moving_.move_hours, ""}},
         moving_.useful(),
         "",
         "table hours, without joined ones"});
  }

  // By hour of the day where there are several days.
  void add_hour_table() {
    Table table{.name = "hours",
                .title = sites_.hours() > kHoursOfDay ? "By hour of the day, the sum of all days"
                                                      : "By hour",
                .columns = {{"hour", "hour", ""}},
                .rows = {}};
    Chart chart{.title = "GPU-hours by hour",
                .x = {"hour", "", false},
                .y = {"GPU-hours", "", false},
                .curves = {}};
    for (const SiteSurplus& each : question_.surplus) {
      table.columns.push_back(
          {"kwh_" + std::to_string(chart.curves.size()), each.name + ": kWh", ""});
      table.columns.push_back(
          {"gpu_hours_" + std::to_string(chart.curves.size()), each.name + ": GPU-hours", ""});
      chart.curves.push_back({each.name + ", powered", {}});
    }
    table.columns.push_back({"gpu_hours", "job runs", ""});
    table.columns.push_back({"joined_gpu_hours", "of these joined", ""});
    table.columns.push_back({"useful_gpu_hours", "job computes", ""});
    chart.curves.push_back({"the job, computing", {}});
    for (size_t row = 0; row < std::min(sites_.hours(), kHoursOfDay); ++row) {
      add_row(row, table, chart);
    }
    answer_.tables.push_back(std::move(table));
    answer_.charts.push_back(std::move(chart));
  }

  void add_row(size_t row, Table& table, Chart& chart) const {
    std::vector<double> kwh(sites_.sites());
    std::vector<double> powered(sites_.sites());
    double gpus = 0;
    double joined = 0;
    double computing = 0;
    for (size_t hour = row; hour < sites_.hours(); hour += kHoursOfDay) {
      const SurplusHour& each = hours_[hour];
      for (size_t site = 0; site < sites_.sites(); ++site) {
        kwh[site] += question_.surplus[site].kwh[hour];
        powered[site] += each.powered[site];
      }
      gpus += static_cast<double>(each.gpus);
      if (each.sites > 1) joined += static_cast<double>(each.gpus);
      computing += each.useful - each.moved;
    }
    std::vector<Cell> cells = {static_cast<double>(row)};
    const auto at = static_cast<double>(row);
    for (size_t site = 0; site < sites_.sites(); ++site) {
      cells.emplace_back(kwh[site]);
      cells.emplace_back(powered[site]);
      chart.curves[site].points.emplace_back(at, powered[site]);
    }
    cells.emplace_back(gpus);
    cells.emplace_back(joined);
    cells.emplace_back(computing);
    chart.curves.back().points.emplace_back(at, computing);
    table.rows.push_back(std::move(cells));
  }

  void add_distances() {
    if (sum_.joined_hours <= 0) return;
    Table table{.name = "distances",
                .title = "By distance: the share of joined GPU-hours that computes",
                .columns = {{"km", "from a site to the next", "km"},
                            {"useful_percent", "computes", "%"},
                            {"useful_gpu_hours", "GPU-hours of computation", ""}},
                .rows = {}};
    const double alone = sum_.useful() - sites_.useful_share(own_km(), hours_) * sum_.joined_hours;
    std::vector<double> all(kDistances.begin(), kDistances.end());
    if (std::find(all.begin(), all.end(), own_km()) == all.end()) all.push_back(own_km());
    std::sort(all.begin(), all.end());
    for (const double km : all) {
      const double share = sites_.useful_share(km, hours_);
      table.rows.push_back({km, 100 * share, share * sum_.joined_hours + alone});
    }
    answer_.tables.push_back(std::move(table));
  }
  double own_km() const { return question_.cluster.site_link.km; }

  // All GPUs at the best site in every hour, on the grid where its surplus does not suffice; and on
  // the grid alone.
  void add_grid_ways(std::vector<Way>& ways) {
    const double all = static_cast<double>(job_.gpus) * static_cast<double>(sites_.hours());
    const auto step = sites_.calculated(job_.gpus, 1, 0);
    if (!step) return;
    if (question_.prices.grid_kwh == 0) return;
    ways.push_back({"all GPUs at " + best_name() + ", surplus and grid", "cost_one_site_and_grid",
                    all, all * step->useful, best_.gpu_hours, 0});
    ways.push_back({"all GPUs at one site, grid", "cost_grid", all, all * step->useful, 0, 0});
  }

  std::vector<Way> ways() {
    std::vector<Way> made;
    if (several()) {
      const double cables = sites_.sites() == 2 ? 1 : static_cast<double>(sites_.sites());
      made.push_back({"all sites joined, surplus", "cost_joined", sum_.gpu_hours, sum_.useful(),
                      sum_.gpu_hours,
                      cables * question_.prices.link_month / kDaysOfMonth * days()});
      made.push_back({"one site at a time, surplus", "cost_moving", moving_.gpu_hours,
                      moving_.useful(), moving_.gpu_hours, 0});
    }
    made.push_back({"all GPUs at " + best_name() + ", surplus", "cost_one_site", best_.gpu_hours,
                    best_.useful(), best_.gpu_hours, 0});
    add_grid_ways(made);
    return made;
  }

  double owned_hours() const {
    return static_cast<double>(job_.gpus) * static_cast<double>(sites_.hours());
  }

  double cost_of(const Way& way) const {
    const Prices& prices = question_.prices;
    return owned_hours() * prices.gpu_hour +
           sites_.gpu_kw() * (way.surplus_hours * prices.surplus_kwh +
                              (way.gpu_hours - way.surplus_hours) * prices.grid_kwh) +
           way.link;
  }

  void add_prices() {
    const Prices& prices = question_.prices;
    Table table{.name = "costs",
                .title = "Costs, in the currency of the prices; GPUs cost in every hour",
                .columns = {{"way", "", ""},
                            {"gpu_hours", "GPU-hours", ""},
                            {"useful_gpu_hours", "computing", ""},
                            {"cost", "cost", ""},
                            {"useful_cost", "a GPU-hour of computation", ""}},
                .rows = {}};
    for (const Way& way : ways()) {
      if (way.useful <= 0) continue;
      const double each = cost_of(way) / way.useful;
      table.rows.push_back({way.name, way.gpu_hours, way.useful, cost_of(way), each});
      if (cheapest_.empty() || each < least_cost_) {
        cheapest_ = way.name;
        least_cost_ = each;
      }
      answer_.figures.push_back(
          {way.figure,
           "cost of a GPU-hour of computation: " + way.name,
           "(N * p + k * (S * s + R * r) + l) / U",
           {{"N", "hours of all GPUs, running or not", owned_hours(), ""},
            {"p", "price of an hour of one", prices.gpu_hour, ""},
            {"k", "kW of a GPU", sites_.gpu_kw(), ""},
            {"S", "GPU-hours on surplus", way.surplus_hours, ""},
            {"s", "price of a kWh of surplus", prices.surplus_kwh, ""},
            {"R", "GPU-hours on the grid", way.gpu_hours - way.surplus_hours, ""},
            {"r", "price of a kWh of the grid", prices.grid_kwh, ""},
            {"l", "links between sites for this time", way.link, ""},
            {"U", "GPU-hours of computation", way.useful, ""}},
           each,
           "",
           "prices as given"});
    }
    answer_.tables.push_back(std::move(table));
  }

  static std::string count_of(double hours) {
    return count_text(static_cast<uint64_t>(std::llround(std::max(hours, 0.0))));
  }

  void add_advice() {
    std::vector<std::string>& advice = answer_.advice;
    if (!answer_.sound) {
      advice.push_back(
          fmt::format("no hour's surplus powers a replica of {}: it needs {:.4g} kWh at a site",
                      counted_text(sites_.of_replica(), "GPU"),
                      static_cast<double>(sites_.of_replica()) * sites_.gpu_kw()));
      return;
    }
    if (several()) {
      advise_on_sites();
    } else {
      advice.push_back(fmt::format("{} GPU-hours of computation, {:.0f}% of those of all its GPUs",
                                   count_of(sum_.useful()), 100 * sum_.useful() / owned_hours()));
    }
    if (!cheapest_.empty()) {
      advice.push_back(
          fmt::format("cheapest: {}, {:.4g} a GPU-hour of computation", cheapest_, least_cost_));
    }
  }

  // Which of three ways computes most. A cable that is worth nothing is not joined.
  void advise_on_sites() {
    const double joined = sum_.useful();
    const double moving = moving_.useful();
    const double one = best_.useful();
    std::string most = "all GPUs at " + best_name();
    if (joined > one && joined > moving) {
      most = "all sites joined";
    } else if (moving > one) {
      most = "one site at a time";
    }
    answer_.advice.push_back(fmt::format(
        "most computation on surplus: {}. GPU-hours: all sites joined {}, one site at a time {}, "
        "all GPUs at {} {}; all GPUs in all hours would be {}",
        most, count_of(joined), count_of(moving), best_name(), count_of(one),
        count_of(owned_hours())));
    const double exposed = 1 - sites_.useful_share(own_km(), hours_);
    if (sum_.joined_hours > 0 && exposed > 0.1) {
      answer_.advice.push_back(fmt::format(
          "{:.0f}% of the joined GPU-hours wait for the exchange: heddle size cluster with --sites "
          "{} names the rate, the window and the distance that it needs",
          100 * exposed, sites_.sites()));
    }
  }

  void add_assumptions() {
    answer_.assumptions = {
        "in an hour the job has all sites in equal shares, or one site; its number of replicas "
        "changes at the hour, with as many sequences for each",
        "a site has an equal share of the job's GPUs, and powers whole nodes; those without "
        "surplus "
        "are off, and take nothing",
        "the job stays where it is unless a move pays within its hour",
        fmt::format("GPUs take their {:g} W while they run, also while they wait",
                    question_.cluster.gpu.watts),
        "left out: storage of energy, starting and stopping of hosts, the effect of a changing "
        "batch on the training, sites of different sizes"};
    if (!question_.prices.known()) {
      answer_.assumptions.emplace_back(
          "costs need --gpu-price, --grid-price or --link-price; without them there are none");
    }
  }

  const std::string& best_name() const { return question_.surplus[best_site_].name; }

  const ModelShape& model_;
  const JobShape& job_;
  const SitesQuestion& question_;
  SurplusHours sites_;
  std::vector<SurplusHour> hours_;
  SurplusSum sum_;
  SurplusSum moving_;  // at one site at a time
  SurplusSum best_;    // of the site that gives most alone
  size_t best_site_ = 0;
  std::string cheapest_;  // of ways(); empty: without prices
  double least_cost_ = 0;
  Answer answer_;
};

Unexpected wrong(const std::string& why, const std::string& todo) {
  return fail(ErrorCode::kInvalid, "no such sites", why, todo);
}

Result<void> check(const SitesQuestion& question) {
  if (question.surplus.empty() || question.surplus.size() > params::sizing::kMostSites) {
    return wrong("surplus is of 1 to 64 sites", "correct the list of sites");
  }
  const size_t hours = question.surplus.front().kwh.size();
  for (const SiteSurplus& each : question.surplus) {
    if (each.kwh.size() != hours || hours == 0 || hours > kMostHours) {
      return wrong(fmt::format("'{}' has {} hours, and '{}' has {}", each.name, each.kwh.size(),
                               question.surplus.front().name, hours),
                   "give 1 to 8,784 hours, as many for each site");
    }
    for (const double kwh : each.kwh) {
      if (!(kwh >= 0) || !(kwh < 1e12)) {
        return wrong("'" + each.name + "' has a surplus that is no amount of an hour",
                     "give kWh from 0 to 1e12");
      }
    }
  }
  if (!(question.cluster.gpu.watts > 0)) {
    return wrong("the GPU's power is not known", "give its file watts");
  }
  if (question.cluster.job.gpus % question.surplus.size() != 0) {
    return wrong(fmt::format("the surplus is of {} sites, which {} GPUs cannot be shared by",
                             question.surplus.size(), count_text(question.cluster.job.gpus)),
                 fmt::format("give --gpus a multiple of {}", question.surplus.size()));
  }
  const Prices& prices = question.prices;
  if (!(question.pue >= 1) || !(question.host_watts >= 0) || !(prices.surplus_kwh >= 0) ||
      !(prices.grid_kwh >= 0) || !(prices.gpu_hour >= 0) || !(prices.link_month >= 0)) {
    return wrong("the PUE is 1 at least, power and prices are 0 at least",
                 "correct the one that is not");
  }
  return {};
}

}  // namespace

Result<Answer> size_sites(const ModelShape& model, const SitesQuestion& question) {
  if (Result<void> checked = check(question); !checked) return fail(checked.error());
  ClusterQuestion whole = question.cluster;
  whole.job.sites = question.surplus.size();
  // What a cluster cannot be, it cannot be here.
  const Result<Answer> possible = size_cluster(model, whole);
  if (!possible) return fail(possible.error());
  if (!possible->sound) {
    Answer refused;
    refused.title = possible->title;
    refused.advice = {possible->advice.front()};
    refused.sound = false;
    return refused;
  }
  const Result<JobShape> job = resolve(whole.job, model);
  if (!job) return fail(job.error());
  return SitesAnswer(model, *job, question).make();
}

}  // namespace heddle::planner
