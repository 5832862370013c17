// Stage inventory: facts of hosts, ports and links beside the topology and beside each other.
#include <fmt/format.h>

#include <set>

#include "acceptance/host_facts.h"
#include "acceptance/machine_rows.h"
#include "acceptance/stages/stages.h"
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
      }
    }
    const size_t links = seen_.size();
    if (down_.size() < links) {
      add({"link state", fmt::format("{} of {} links", links - down_.size(), links), "up", "up"});
    }
    if (right_mtus_ > 0) {
      add({"MTU", fmt::format("{} of {} ports", right_mtus_, ports), mtu_text(), mtu_text()});
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
    add_all(pcie_rows(facts_.machines));
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

  std::string mtu_text() const { return fmt::format("{} bytes", fmt::join(mtus_, ", ")); }

  Session& session_;
  StageReport& report_;
  const FabricFacts& facts_;
  const std::vector<PlaceFacts>& places_;
  std::set<uint32_t> seen_;  // links
  std::set<uint32_t> down_;
  std::set<uint32_t> mtus_;  // expected
  size_t right_mtus_ = 0;
};

// What `heddle doctor rdma` says on each host, as one more fact. Hosts without RDMA are as good:
// then heddle uses UDP.
Result<void> add_doctor(Session& session, std::vector<PlaceFacts>& places) {
  std::vector<Commands::Id> ids;
  for (uint32_t i = 0; i < session.hosts(); ++i) {
    const auto id =
        session.commands().start(session.host(i), {"heddle", "doctor", "rdma", "--json"});
    if (!id) return fail(id.error());
    ids.push_back(*id);
  }
  session.wait(ids, {});
  for (uint32_t i = 0; i < session.hosts(); ++i) {
    const std::optional<Json> found = document_of(session.commands().result_of(ids[i]));
    std::string text = "unknown";
    if (found && found->contains("findings") && !found->at("findings").empty()) {
      text = found->at("findings").front().value("what", "unknown");
    }
    places[i].facts.emplace_back("RDMA", text);
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
