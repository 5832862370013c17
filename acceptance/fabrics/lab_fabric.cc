// The fabric of a lab: see fabric.h.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "acceptance/fabric.h"
#include "base/document.h"
#include "base/exec.h"
#include "lab/exec.h"
#include "launch/own_command.h"

namespace heddle::acceptance {
namespace {

class LabFabric final : public Fabric {
 public:
  explicit LabFabric(const lab::Lab& lab) : lab_(lab) {}

  std::string name() const override { return lab_.state.name; }
  bool is_emulated() const override { return true; }
  std::vector<std::string> notes() const override { return lab_.state.notes; }
  const topology::Topology& topology() const override { return lab_.layout.topology; }

  void run(const std::string& host, const std::vector<std::string>& words,
           const Start& /*start*/) const override {
    const std::string file = words.front() == "heddle" ? launch::own_file() : std::string();
    const ExecFailure failure = lab::exec_on_host(lab_, host, words, file);
    fmt::print(stderr, "heddle: {}\n", failure.error.message());
    std::fflush(stderr);
    _exit(failure.exit_status);
  }

  Nanos login_time() const override { return {}; }

  std::string line(const std::string& host, const std::vector<std::string>& words) const override {
    return fmt::format("heddle lab exec {} --lab {} -- {}", host, name(),
                       launch::shell_line(words));
  }

  std::vector<std::string> options_for_ranks(const std::vector<uint32_t>& hosts) const override {
    std::string names;
    for (const uint32_t host : hosts) {
      names += (names.empty() ? "" : ",") + topology().hosts[host].name;
    }
    return {"--lab", name(), "--hosts", names};
  }

  std::string address(uint32_t host) const override {
    const lab::Layout& layout = lab_.layout;
    return lab::nic_ipv4(layout, layout.ports[layout.places[host].ports.front()].nic);
  }

  std::string target(uint32_t host) const override { return topology().hosts[host].name; }

  std::string device(uint32_t host) const override {
    const lab::Layout& layout = lab_.layout;
    return layout.ports[layout.places[host].ports.front()].device;
  }

  std::vector<HostNic> nics(uint32_t host) const override {
    std::vector<HostNic> nics;
    for (const uint32_t at : lab_.layout.places[host].ports) {
      const lab::Port& port = lab_.layout.ports[at];
      nics.push_back({port.device, lab::nic_ipv4(lab_.layout, port.nic), true});
    }
    return nics;
  }

  std::optional<HostRdma> rdma(uint32_t /*host*/) const override { return std::nullopt; }

  std::optional<uint32_t> switch_at(const std::string& address) const override {
    for (uint32_t i = 0; i < topology().switches.size(); ++i) {
      if (address == lab::switch_ipv4(i)) return i;
    }
    return std::nullopt;
  }

  // Ranks have this machine's files.
  std::string folder_for_ranks(const std::string& folder) const override { return folder; }
  Result<void> collect(Commands& /*commands*/, const std::string& /*folder*/,
                       const std::vector<uint32_t>& /*hosts*/) const override {
    return {};
  }

  Result<std::string> place_file(Commands& /*commands*/, const std::string& path,
                                 const std::string& text,
                                 const std::vector<uint32_t>& /*hosts*/) const override {
    if (Result<void> written = write_text_file(path, text); !written) return fail(written.error());
    return path;
  }
  void clean_up(Commands& /*commands*/, const std::vector<uint32_t>& /*hosts*/) const override {}

  Result<FabricFacts> read_facts(Commands& /*commands*/) const override {
    Result<std::vector<PlaceFacts>> places = read_lab_facts(lab_);
    if (!places) return fail(std::move(places).error());
    MachineFacts machine = machine_facts(own_sources(""));
    machine.name = "this machine";
    return FabricFacts{std::move(*places), {std::move(machine)}, true};
  }
  Result<std::vector<PlaceCounts>> read_counts(Commands& /*commands*/) const override {
    return read_lab_counts(lab_);
  }
  Result<std::unique_ptr<LinkWatch>> watch_links(Commands& /*commands*/,
                                                 const std::vector<uint32_t>& /*hosts*/,
                                                 bool /*with_nics*/) const override {
    return watch_lab(lab_);
  }

 private:
  const lab::Lab& lab_;
};

}  // namespace

std::unique_ptr<Fabric> fabric_of_lab(const lab::Lab& lab) {
  return std::make_unique<LabFabric>(lab);
}

}  // namespace heddle::acceptance
