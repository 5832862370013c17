// Stage inventory: facts of hosts, ports and links beside the topology and beside each other.
#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "acceptance/host_facts.h"
#include "acceptance/machine_rows.h"
#include "acceptance/machine_texts.h"
#include "acceptance/nic_rows.h"
#include "acceptance/params.h"
#include "acceptance/stages/stages.h"
#include "base/quantity.h"
#include "topology/names.h"

namespace heddle::acceptance {
namespace {

class Inventory {
 public:
  Inventory(Session& session, StageReport& report, const FabricFacts& facts)
      : session_(session), report_(report), facts_(facts), places_(facts.places) {}

  void check_ports() {
    size_t ports = 0;
    for (const PlaceFacts& place : places_) {
      ports += place.ports.size();
      for (const PortFacts& port : place.ports) {
        seen_.insert(port.link);
        check_carrier(port);
        check_mtu(place, port);
        check_rate(place, port);
      }
    }
    const size_t links = seen_.size();
    if (down_.size() < links) {
      add({"link state", fmt::format("{} of {} links", links - down_.size(), links), "up", "up"});
    }
    if (right_mtus_ > 0) {
      add({"MTU", fmt::format("{} of {} ports", right_mtus_, ports), mtu_text(), mtu_text()});
    }
    if (right_rates_ > 0) {
      add({"port rate", fmt::format("{} of {} ports", right_rates_, known_rates_), "as planned",
           "as planned"});
    }
  }

  void check_machines() {
    add_all(compare_facts(places_));
    add_all(compare_clocks(places_));
    add_all(firewall_rows(places_));
    if (facts_.shared) {
      for (const MachineFacts& each : facts_.machines) add_all(shared_rows(each));
      return;
    }
    add_all(nic_rows(facts_.machines));
    add_all(pcie_rows(facts_.machines));
    add_all(acs_rows(facts_.machines));
    add_all(clock_rows(facts_.machines));
  }

  Json data() const {
    Json places = Json::array();
    for (const PlaceFacts& place : places_) {
      Json ports = Json::array();
      for (const PortFacts& port : place.ports) {
        ports.push_back(
            {{"device", port.device}, {"carrier", port.carrier}, {"mtu_bytes", port.mtu_bytes}});
      }
      Json facts = Json::object();
      for (const auto& [name, value] : place.facts) facts[name] = value;
      places.push_back(
          {{"name", place.name}, {"switch", place.is_switch}, {"ports", ports}, {"facts", facts}});
    }
    Json machines = Json::array();
    for (const MachineFacts& each : facts_.machines) {
      Json facts = Json::object();
      for (const auto& [name, value] : each.facts) facts[name] = value;
      Json machine = json_of(each);
      machine["name"] = each.name;
      machine["facts"] = facts;
      machines.push_back(std::move(machine));
    }
    return {{"places", places}, {"machines", machines}};
  }

 private:
  void add(Row row) { report_.rows.push_back(std::move(row)); }
  void add_all(std::vector<Row> rows) {
    for (Row& row : rows) add(std::move(row));
  }

  void check_carrier(const PortFacts& facts) {
    if (facts.found && facts.carrier) return;
    if (!down_.insert(facts.link).second) return;  // the other end said it
    add({"link state", topology::link_label(session_.topology(), facts.link), "down", "up",
         Grade::kFail,
         "no carrier: plug the cable in, check its optics, and that both ports are enabled"});
  }

  void check_mtu(const PlaceFacts& place, const PortFacts& facts) {
    if (!facts.found) return;
    const uint32_t planned = session_.topology().links[facts.link].shape.mtu_bytes;
    const uint32_t expected = session_.expectations().mtu_bytes.value_or(planned);
    mtus_.insert(expected);
    if (facts.mtu_bytes == expected) {
      ++right_mtus_;
      return;
    }
    const std::string where =
        place.is_switch ? fmt::format("{} port {}", place.name, facts.device) : place.name;
    add({"MTU", where, fmt::format("{} bytes on {}", facts.mtu_bytes, facts.device),
         fmt::format("{} bytes", expected), Grade::kFail,
         fmt::format("on {}: ip link set {} mtu {}; packets that do not fit are lost or cut",
                     place.name, facts.device, expected)});
  }

  // Without a plan the link has the rate that the port had when the test began.
  void check_rate(const PlaceFacts& place, const PortFacts& facts) {
    const auto planned =
        static_cast<double>(session_.topology().links[facts.link].shape.rate.count);
    const double rate = facts.rate_bits_per_s;
    if (rate == 0 || planned == 0 || !session_.fabric().has_plan()) return;
    ++known_rates_;
    if (std::abs(rate - planned) < params::kPortRateUnit) {
      ++right_rates_;
      return;
    }
    // A plan may have less than the port can do, where a switch limits it.
    const Grade grade = rate < planned ? Grade::kFail : Grade::kWarn;
    add({"port rate", place.name, fmt::format("{} on {}", rate_text(rate), facts.device),
         rate_text(planned), grade,
         fmt::format("see by `ethtool {}` on {} what was negotiated, and compare the cable, its "
                     "optics and the settings of both ports with the plan",
                     facts.device, place.name)});
  }

  std::string mtu_text() const { return fmt::format("{} bytes", fmt::join(mtus_, ", ")); }

  Session& session_;
  StageReport& report_;
  const FabricFacts& facts_;
  const std::vector<PlaceFacts>& places_;
  std::set<uint32_t> seen_;  // links
  std::set<uint32_t> down_;
  std::set<uint32_t> mtus_;  // expected
  size_t right_mtus_ = 0;
  size_t known_rates_ = 0;
  size_t right_rates_ = 0;
};

// The first one, as `heddle doctor` writes it.
std::string finding_in(const std::optional<Json>& document) {
  constexpr const char* kUnknown = "unknown";
  if (!document) return kUnknown;
  const auto findings = document->find("findings");
  if (findings == document->end() || !findings->is_array() || findings->empty()) return kUnknown;
  const Json& first = findings->front();
  const auto what = first.is_object() ? first.find("what") : first.end();
  if (what == first.end() || !what->is_string()) return kUnknown;
  return machine_text(what->get<std::string>());
}

// What `heddle doctor rdma` says on each host, as one more fact. Hosts without RDMA are as good:
// then heddle uses UDP.
Result<void> add_doctor(Session& session, std::vector<PlaceFacts>& places) {
  std::vector<std::pair<PlaceFacts*, Commands::Id>> asked;
  std::vector<Commands::Id> ids;
  for (PlaceFacts& place : places) {
    if (place.is_switch) continue;
    const auto id = session.commands().start(place.name, {"heddle", "doctor", "rdma", "--json"});
    if (!id) return fail(id.error());
    asked.emplace_back(&place, *id);
    ids.push_back(*id);
  }
  session.wait(ids, {});
  for (const auto& [place, id] : asked) {
    place->facts.emplace_back("RDMA", finding_in(document_of(session.commands().result_of(id))));
  }
  return {};
}

}  // namespace

Result<void> run_inventory(Session& session, StageReport& report) {
  Result<FabricFacts> facts = session.fabric().read_facts(session.commands());
  if (!facts) return fail(std::move(facts).error());
  if (Result<void> asked = add_doctor(session, facts->places); !asked) return asked;
  if (session.interrupted()) return {};
  Inventory inventory(session, report, *facts);
  inventory.check_ports();
  inventory.check_machines();
  report.data = inventory.data();
  return {};
}

}  // namespace heddle::acceptance
