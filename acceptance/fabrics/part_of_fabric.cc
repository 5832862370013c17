// A part of a fabric: see fabric.h.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "acceptance/fabric.h"

namespace heddle::acceptance {
namespace {

class PartWatch final : public LinkWatch {
 public:
  PartWatch(std::unique_ptr<LinkWatch> whole, const std::vector<uint32_t>& links)
      : whole_(std::move(whole)), links_(links) {}

  Result<void> look() override { return whole_->look(); }
  Result<void> restart() override { return whole_->restart(); }
  Result<std::vector<CarriedLoad>> loads() override { return of_part(whole_->loads()); }
  Result<std::vector<CarriedLoad>> totals() override { return of_part(whole_->totals()); }
  std::vector<PlaceCounts> nics() override { return whole_->nics(); }

 private:
  Result<std::vector<CarriedLoad>> of_part(Result<std::vector<CarriedLoad>> all) const {
    if (!all) return all;
    std::vector<CarriedLoad> loads;
    for (const uint32_t link : links_) loads.push_back((*all)[link]);
    return loads;
  }

  std::unique_ptr<LinkWatch> whole_;
  const std::vector<uint32_t>& links_;  // of the part, which outlives it
};

class PartOfFabric final : public Fabric {
 public:
  PartOfFabric(const Fabric& whole, PartOfTopology part) : whole_(whole), part_(std::move(part)) {}

  std::string name() const override {
    return fmt::format("{} hosts of {}", part_.hosts.size(), whole_.name());
  }
  bool is_emulated() const override { return whole_.is_emulated(); }
  std::vector<std::string> notes() const override { return {}; }
  const topology::Topology& topology() const override { return part_.topology; }
  std::string link_label(uint32_t link) const override {
    return whole_.link_label(part_.links[link]);  // parallel links keep their numbers
  }

  void run(const std::string& host, const std::vector<std::string>& words,
           const Start& start) const override {
    whole_.run(host, words, start);
  }
  void run_here(const std::vector<std::string>& words) const override { whole_.run_here(words); }
  Nanos login_time() const override { return whole_.login_time(); }
  std::string line(const std::string& host, const std::vector<std::string>& words) const override {
    return whole_.line(host, words);
  }
  std::vector<std::string> options_for_ranks(const std::vector<uint32_t>& hosts) const override {
    return whole_.options_for_ranks(of_whole(hosts));
  }
  std::string address(uint32_t host) const override { return whole_.address(part_.hosts[host]); }
  std::string target(uint32_t host) const override { return whole_.target(part_.hosts[host]); }
  std::string device(uint32_t host) const override { return whole_.device(part_.hosts[host]); }
  std::vector<HostNic> nics(uint32_t host) const override { return whole_.nics(part_.hosts[host]); }
  bool has_plan() const override { return whole_.has_plan(); }
  std::optional<HostRdma> rdma(uint32_t host) const override {
    return whole_.rdma(part_.hosts[host]);
  }
  std::optional<uint32_t> switch_at(const std::string& address) const override {
    return whole_.switch_at(address);  // the part has all switches
  }

  std::string folder_for_ranks(const std::string& folder) const override {
    return whole_.folder_for_ranks(folder);
  }
  Result<void> collect(Commands& commands, const std::string& folder,
                       const std::vector<uint32_t>& hosts) const override {
    return whole_.collect(commands, folder, of_whole(hosts));
  }
  Result<std::string> place_file(Commands& commands, const std::string& path,
                                 const std::string& text,
                                 const std::vector<uint32_t>& hosts) const override {
    return whole_.place_file(commands, path, text, of_whole(hosts));
  }
  void clean_up(Commands& commands, const std::vector<uint32_t>& hosts) const override {
    whole_.clean_up(commands, of_whole(hosts));
  }

  std::vector<SilentHost> silent() const override {
    std::vector<SilentHost> silent;
    for (SilentHost& each : whole_.silent()) {
      const auto at = std::find(part_.hosts.begin(), part_.hosts.end(), each.host);
      if (at == part_.hosts.end()) continue;
      silent.push_back({static_cast<uint32_t>(at - part_.hosts.begin()), each.complaint});
    }
    return silent;
  }
  void find_silent(Commands& commands) const override { whole_.find_silent(commands); }

  // As the whole has them: the stage that asks has run on the whole.
  Result<FabricFacts> read_facts(Commands& commands) const override {
    return whole_.read_facts(commands);
  }
  Result<std::vector<PlaceCounts>> read_counts(Commands& commands) const override {
    return whole_.read_counts(commands);
  }
  Result<std::unique_ptr<LinkWatch>> watch_links(Commands& commands,
                                                 const std::vector<uint32_t>& hosts,
                                                 bool with_nics) const override {
    Result<std::unique_ptr<LinkWatch>> watch =
        whole_.watch_links(commands, of_whole(hosts), with_nics);
    if (!watch) return watch;
    return std::unique_ptr<LinkWatch>(std::make_unique<PartWatch>(std::move(*watch), part_.links));
  }

 private:
  std::vector<uint32_t> of_whole(const std::vector<uint32_t>& hosts) const {
    std::vector<uint32_t> made;
    for (const uint32_t host : hosts) made.push_back(part_.hosts[host]);
    return made;
  }

  const Fabric& whole_;
  PartOfTopology part_;
};

}  // namespace

std::unique_ptr<Fabric> part_of_fabric(const Fabric& whole, PartOfTopology part) {
  return std::make_unique<PartOfFabric>(whole, std::move(part));
}

}  // namespace heddle::acceptance
