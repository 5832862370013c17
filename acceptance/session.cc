// See session.h.
#include "acceptance/session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "acceptance/live_figures.h"
#include "acceptance/machine_texts.h"
#include "acceptance/params.h"
#include "base/clocks.h"
#include "launch/remote_command.h"

namespace heddle::acceptance {

Result<std::unique_ptr<Session>> Session::open(const Fabric& fabric,
                                               const AcceptanceOptions& options) {
  std::unique_ptr<Session> session(new Session(fabric, options));
  Result<std::unique_ptr<LinkWatch>> links =
      fabric.watch_links(session->commands_, session->all_hosts(), options.live != nullptr);
  if (!links) return fail(std::move(links).error());
  session->links_ = std::move(*links);
  return session;
}

Session::Session(const Fabric& fabric, const AcceptanceOptions& options)
    : fabric_(fabric),
      options_(options),
      expected_(options.plan ? *options.plan : fabric.topology()),
      commands_(fabric),
      servers_(expected_.hosts.size()),
      seen_(expected_.links.size()),
      of_stage_(expected_.links.size()) {}

std::vector<uint32_t> Session::all_hosts() const {
  std::vector<uint32_t> all(hosts());
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

std::string Session::pair_name(const HostPair& pair) const {
  return fmt::format("{} to {}", host(pair.from), host(pair.to));
}

std::string Session::target(const HostPair& pair) const {
  if (pair.over_first_nics()) return fabric_.target(pair.to);
  return fabric_.nics(pair.to)[pair.nics.to].address;
}

std::vector<std::string> Session::bind_options(const HostPair& pair) const {
  if (pair.over_first_nics()) return {};
  return {"--bind", fabric_.nics(pair.from)[pair.nics.from].address};
}

Coverage Session::coverage() const {
  const bool all = options_.depth != Depth::kQuick || hosts() <= params::kQuickHosts;
  return options_.coverage.value_or(all ? Coverage::kFull : Coverage::kSample);
}

std::vector<std::vector<HostPair>> Session::rounds(bool both) const {
  if (coverage() == Coverage::kRing) return ring_rounds(hosts(), both);
  std::vector<std::vector<HostPair>> rounds = rounds_of(hosts(), both);
  const size_t most = params::kPartners * (both ? 2 : 1);
  if (coverage() == Coverage::kSample && rounds.size() > most) rounds.resize(most);
  return rounds;
}

Nanos Session::flow_time() const {
  if (options_.depth == Depth::kQuick) return params::kQuickFlow;
  return options_.depth == Depth::kFull ? params::kFullFlow : params::kNormalFlow;
}

std::vector<double> Session::payload_rates(const std::vector<HostPair>& flows) const {
  std::vector<double> rates = fluid_rates(expected_, flows);
  for (size_t i = 0; i < flows.size(); ++i) {
    rates[i] *= payload_share(routes_between(expected_, flows[i]).mtu_bytes,
                              version_of(fabric_.address(flows[i].to)));
  }
  return rates;
}

void Session::restart_processor_time() { processors_ = ProcessorTime(commands_.running_seconds()); }

Grade Session::grade_of_speed(double reached, double expected) const {
  if (reached >= expected) return Grade::kOk;
  if (reached >= expected * params::kWarnShare) return Grade::kWarn;
  const bool far_below = reached < expected * params::kDisturbedFloor;
  return disturbed() && !far_below ? Grade::kWarn : Grade::kFail;
}

bool Session::disturbed() const {
  if (!fabric_.is_emulated()) return false;  // this machine does not carry the traffic
  return processors_.others_share(commands_.running_seconds()) > params::kDisturbed;
}

bool Session::may_repeat(int repeats_done) const {
  if (interrupted() || repeats_done >= params::kRepeats) return false;
  const bool quick = options_.depth == Depth::kQuick;
  return !quick || lab::meter_now() - start_ < params::kQuickRepeats;
}

Result<std::vector<uint32_t>> Session::start_servers() {
  for (uint32_t i = 0; i < hosts(); ++i) {
    if (interrupted()) return std::vector<uint32_t>{};
    if (servers_[i] && commands_.is_running(*servers_[i])) continue;
    const Result<Commands::Id> server = commands_.start(host(i), {"heddle", "perf", "--listen"});
    if (!server) return fail(server.error());
    servers_[i] = *server;
  }
  std::vector<uint32_t> silent;
  for (int64_t waited_ms = 0;; waited_ms += 5) {
    silent.clear();
    size_t ended = 0;
    for (uint32_t i = 0; i < hosts(); ++i) {
      const auto listens = [](std::string_view line) {
        return line.find("listens on") != std::string_view::npos;
      };
      if (commands_.has_line(*servers_[i], listens)) continue;
      silent.push_back(i);
      ended += commands_.is_running(*servers_[i]) ? 0 : 1;
    }
    if (interrupted()) return std::vector<uint32_t>{};
    if (silent.size() == ended ||
        millis(waited_ms) > params::kServerStart + fabric_.login_time() * 4)
      return silent;
    usleep(5'000);
  }
}

bool Session::server_is_stopped(uint32_t host) const {
  return servers_[host] && commands_.is_stopped(*servers_[host]);
}

std::string Session::server_complaint(uint32_t host) {
  if (!servers_[host] || commands_.is_running(*servers_[host])) return "";
  return complaint_of(commands_.result_of(*servers_[host]));
}

Nanos Session::common_start() const {
  const Nanos login = fabric_.login_time();
  if (login.count == 0) return {};
  return wall_now() + login * 2;
}

void Session::wait(const std::vector<Commands::Id>& ids, Nanos measuring) {
  commands_.wait(ids, measuring + fabric_.login_time() * 4 + params::kChildGrace, [this] {
    usleep(5'000);
    static_cast<void>(links_->look());  // a peak less; loads() reports why
    if (lab::meter_now() >= next_show_) show_loads();
    return !interrupted();
  });
}

Result<std::vector<CarriedLoad>> Session::take_loads() {
  Result<std::vector<CarriedLoad>> loads = links_->loads();
  if (!loads) return loads;
  for (size_t i = 0; i < seen_.size(); ++i) {
    seen_[i].forward += (*loads)[i].forward;
    seen_[i].backward += (*loads)[i].backward;
    of_stage_[i].forward += (*loads)[i].forward;
    of_stage_[i].backward += (*loads)[i].backward;
    seen_[i].known = (*loads)[i].known;
  }
  if (Result<void> again = links_->restart(); !again) return fail(again.error());
  return loads;
}

void Session::add_seen(const std::vector<BothLoads>& loads) {
  for (size_t i = 0; i < seen_.size() && i < loads.size(); ++i) {
    seen_[i].forward += loads[i].forward;
    seen_[i].backward += loads[i].backward;
  }
}

std::vector<BothLoads> Session::take_stage_loads() {
  static_cast<void>(take_loads());  // without them there are fewer figures
  return std::exchange(of_stage_, std::vector<BothLoads>(seen_.size()));
}

void Session::show_loads() {
  if (options_.live == nullptr) return;
  const Nanos start = lab::meter_now();
  const Result<std::vector<CarriedLoad>> totals = links_->totals();
  options_.live->set_loads(totals ? *totals : std::vector<CarriedLoad>(),
                           processors_.others_share(commands_.running_seconds()));
  options_.live->set_nics(links_->nics());
  const Nanos end = lab::meter_now();
  next_show_ = end + std::max(params::kLiveInterval, (end - start) * params::kLivePause);
}

std::optional<Json> document_of(const CommandEnd& end) {
  Json document = machine_document(end.output);
  if (document.is_discarded() || !document.is_object()) return std::nullopt;
  return document;
}

std::optional<Json> first_test(const std::optional<Json>& document) {
  if (!document) return std::nullopt;
  const auto tests = document->find("tests");
  if (tests == document->end() || !tests->is_array() || tests->empty()) return std::nullopt;
  const Json& first = tests->front();
  // Of one that broke off there are figures of its beginning, if any, and the command's error.
  if (!first.is_object() || first.value("complete", Json()) == false) return std::nullopt;
  return first;
}

double number_of(const Json& document, const char* name) {
  const auto found = document.find(name);
  return found != document.end() && found->is_number() ? found->get<double>() : 0;
}

}  // namespace heddle::acceptance
