// See machine_answers.h.
#include "acceptance/fabrics/machine_answers.h"

#include <algorithm>

#include "acceptance/agent_numbers.h"
#include "acceptance/machine/nic_addresses.h"
#include "acceptance/machine_texts.h"
#include "acceptance/params.h"

namespace heddle::acceptance {

Json document_in(const CommandEnd& end) {
  const size_t line = end.output.rfind("\n{");
  return machine_document(line == std::string::npos ? end.output : end.output.substr(line + 1));
}

bool is_whole(const Json& facts) {
  const auto has = [&](const char* key, bool (Json::*is)() const noexcept) {
    const auto found = facts.find(key);
    return found != facts.end() && ((*found).*is)();
  };
  if (!facts.is_object() || !has("facts", &Json::is_object)) return false;
  for (const auto& [name, value] : facts.at("facts").items()) {
    if (!value.is_string()) return false;
  }
  return has("device", &Json::is_string) &&
         is_machine_name(facts.at("device").get<std::string>()) && has("links", &Json::is_string) &&
         has("rate_bits_per_s", &Json::is_number) && has("mtu_bytes", &Json::is_number_unsigned);
}

std::optional<HostRdma> rdma_in(const Json& facts) {
  const auto found = facts.find("rdma");
  if (found == facts.end() || !found->is_object()) return std::nullopt;
  const auto device = found->find("device");
  const auto software = found->find("software");
  if (device == found->end() || !device->is_string()) return std::nullopt;
  if (!is_machine_name(device->get<std::string>())) return std::nullopt;
  return HostRdma{device->get<std::string>(), software != found->end() && *software == true};
}

NamedFacts named_facts_in(const Json& facts) {
  NamedFacts named;
  for (const auto& [name, value] : facts.at("facts").items()) {
    if (named.size() == params::kMostFacts) break;
    if (is_machine_name(name)) named.emplace_back(name, machine_text(value.get<std::string>()));
  }
  return named;
}

std::vector<HostNic> nics_in(const Json& facts, const std::string& address) {
  std::vector<HostNic> nics = {{facts.at("device").get<std::string>(), address, true}};
  const auto found = facts.find("addresses");
  for (const NicAddress& each :
       nic_addresses_in(found == facts.end() ? Json() : *found, version_of(address))) {
    const auto same = [&](const HostNic& nic) { return nic.device == each.device; };
    if (std::any_of(nics.begin(), nics.end(), same)) continue;
    nics.push_back({each.device, each.address, false});
  }
  return nics;
}

topology::LinkShape shape_in(const Json& facts) {
  topology::LinkShape shape;
  shape.rate = {count_of(facts.at("rate_bits_per_s").get<double>())};
  shape.mtu_bytes =
      static_cast<uint32_t>(count_of(facts.at("mtu_bytes").get<double>(), UINT32_MAX));
  return shape;
}

double hardware_rate_in(const Json& facts, const MachineFacts& machine) {
  const auto has_rate = [](const NicFacts& nic) { return nic.tested && nic.rate_bits_per_s > 0; };
  if (!machine.nics || std::none_of(machine.nics->begin(), machine.nics->end(), has_rate)) return 0;
  return std::clamp(facts.at("rate_bits_per_s").get<double>(), 0.0, params::kMostNicRate);
}

double reading_seconds(const Json& facts) {
  const auto machine = facts.find("machine");
  if (machine == facts.end() || !machine->is_object()) return 0;
  const auto found = machine->find("seconds");
  const bool is_time = found != machine->end() && found->is_number();
  return is_time ? std::clamp(found->get<double>(), 0.0, to_seconds(params::kFactsTime)) : 0;
}

std::vector<std::string> names_of(const Json& document, const char* list) {
  std::vector<std::string> names;
  const auto found = document.find(list);
  if (found == document.end() || !found->is_array()) return names;
  for (const Json& name : *found) {
    if (names.size() == params::kMostNics) break;
    if (!name.is_string() || !is_machine_name(name.get<std::string>())) continue;
    names.push_back(name.get<std::string>());
  }
  return names;
}

}  // namespace heddle::acceptance
