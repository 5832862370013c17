// Machine facts of made-up trees: NICs and GPUs on PCIe, ACS, GIDs, and what is missing.
#include "acceptance/machine/machine_facts.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "acceptance/params.h"
#include "base/temporary_folder.h"
#include "nodes/rdma_ports.h"

namespace heddle::acceptance {
namespace {

using nodes::rdma_ports;

namespace fs = std::filesystem;

// Little-endian, with one extended capability.
std::string config_with(unsigned capability, unsigned control) {
  std::string config(4096, '\0');
  config[0x100] = static_cast<char>(capability);
  config[0x102] = 1;
  config[0x106] = static_cast<char>(control);
  return config;
}

class Tree {
 public:
  Tree() : folder_(std::move(*TemporaryFolder::make("heddle-machine-test"))) {
    fs::create_directories(sys() / "class/net");
    fs::create_directories(sys() / "bus/pci/devices");
  }

  fs::path sys() const { return fs::path(folder_.path()) / "sys"; }
  fs::path proc() const { return fs::path(folder_.path()) / "proc"; }

  static void write(const fs::path& file, const std::string& text) {
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }

  // A device below a bridge of its own; returns its folder.
  fs::path add_device(const std::string& name, const std::string& config) const {
    const fs::path bridge = sys() / "devices/pci0000:00" / ("0000:00:" + name + ".0");
    const fs::path device = bridge / ("0000:" + name + ":00.0");
    write(bridge / "config", config);
    set_link(bridge, {"16", "16", "32.0 GT/s PCIe", "32.0 GT/s PCIe"});
    fs::create_directories(device);
    return device;
  }

  struct Link {
    const char* width;
    const char* most_width;
    const char* speed;
    const char* most_speed;
  };
  static void set_link(const fs::path& device, const Link& link) {
    write(device / "current_link_width", link.width + std::string("\n"));
    write(device / "max_link_width", link.most_width + std::string("\n"));
    write(device / "current_link_speed", link.speed + std::string("\n"));
    write(device / "max_link_speed", link.most_speed + std::string("\n"));
  }

  void add_nic(const std::string& name, const fs::path& device) const {
    fs::create_directories(device / "net" / name);
    fs::create_directories(sys() / "class/net" / name);
    fs::create_directory_symlink(device, sys() / "class/net" / name / "device");
  }

  void add_gpu(const fs::path& device) const {
    write(device / "vendor", "0x10de\n");
    write(device / "class", "0x030200\n");
    fs::create_directory_symlink(device, sys() / "bus/pci/devices" / device.filename());
  }

  MachineSources sources() const {
    MachineSources sources;
    sources.sys = sys();
    sources.proc = proc();
    sources.driver = [](const std::string& name) {
      return name == "eth1" ? lab::DriverInfo{"virtio_net", "N/A"}
                            : lab::DriverInfo{"mlx5_core", name == "eth2" ? "" : "28.39.1002"};
    };
    sources.offloads = [](const std::string& /*name*/) { return std::string("gro on"); };
    sources.settings = [](const std::string& name) {
      return name == "eth2" ? DriverSettings{} : DriverSettings{.rings = "rx 1024, tx 1024"};
    };
    return sources;
  }

  std::map<std::string, std::string> facts() const {
    const NamedFacts found = machine_facts(sources()).facts;
    return {found.begin(), found.end()};
  }

 private:
  TemporaryFolder folder_;
};

TEST(MachineFacts, AVirtualNicHasNoHardwareFacts) {
  const Tree tree;
  fs::create_directories(tree.sys() / "class/net/nic0");
  const auto facts = tree.facts();
  EXPECT_EQ(facts.at("NIC driver"), "none");
  EXPECT_EQ(facts.at("NIC firmware"), "none");
  EXPECT_EQ(facts.at("NIC PCIe"), "none");
  EXPECT_EQ(facts.at("GPUs"), "none");
  EXPECT_EQ(facts.at("PCIe ACS"), "no bridges above NICs and GPUs");
  EXPECT_EQ(facts.at("RDMA GIDs"), "no RDMA devices");
  EXPECT_EQ(facts.at("largest send buffer"), "not known");
}

TEST(MachineFacts, FirmwareIsEmptyOrNotSaidOfSomeDrivers) {
  const Tree tree;
  for (const char* const name : {"1", "2", "3", "4"}) {
    const std::string nic = std::string("eth") + name;
    tree.add_nic(nic, tree.add_device(std::string("0") + name, ""));
  }
  EXPECT_EQ(tree.facts().at("NIC firmware"),
            "virtio_net without a version; mlx5_core without a version; 2 x mlx5_core 28.39.1002");
}

// OFED beside the kernel's driver was not seen where both found the same firmware.
TEST(MachineFacts, TheDriversVersionIsAFactUnlessItIsTheKernels) {
  const Tree tree;
  tree.add_nic("eth0", tree.add_device("01", ""));
  Tree::write(tree.proc() / "sys/kernel/osrelease", "6.1.0-37-amd64\n");
  for (const auto& [version, fact] : {std::pair("6.1.0-37-amd64", "mlx5_core of the kernel"),
                                      {"24.10-1.1.4", "mlx5_core 24.10-1.1.4"},
                                      {"6.1.0-36-amd64", "mlx5_core 6.1.0-36-amd64"},
                                      {"N/A", "mlx5_core without a version"},
                                      {"", "mlx5_core without a version"}}) {
    MachineSources sources = tree.sources();
    sources.driver = [written = std::string(version)](const std::string& /*name*/) {
      return lab::DriverInfo{"mlx5_core", "28.39.1002", written};
    };
    const NamedFacts found = machine_facts(sources).facts;
    const std::map<std::string, std::string> facts(found.begin(), found.end());
    EXPECT_EQ(facts.at("NIC driver"), fact);
    EXPECT_EQ(facts.at("NIC firmware"), "mlx5_core 28.39.1002");
  }
  MachineSources sources = tree.sources();
  sources.driver = [](const std::string& /*name*/) { return lab::DriverInfo{}; };
  EXPECT_EQ(machine_facts(sources).facts.front(),
            (NamedFacts::value_type{"NIC driver", "unknown driver without a version"}));
}

// A host whose management NIC had another firmware than others' was named.
TEST(MachineFacts, ANicThatIsNotTestedIsAFactOfItsOwn) {
  const Tree tree;
  for (const char* const name : {"1", "2", "3"}) {
    const fs::path device = tree.add_device(std::string("0") + name, "");
    Tree::set_link(device, {"8", "16", "32.0 GT/s PCIe", "32.0 GT/s PCIe"});
    tree.add_nic(std::string("eth") + name, device);
  }
  const fs::path net = tree.sys() / "class/net";
  fs::create_directories(net / "vlan7/lower_bond0");
  fs::create_directories(net / "bond0/lower_eth3");
  for (const auto& [tested, firmware, others] :
       {std::tuple("eth3", "mlx5_core 28.39.1002",
                   "virtio_net without a version; mlx5_core without a version"),
        {"vlan7", "mlx5_core 28.39.1002",
         "virtio_net without a version; mlx5_core without a version"},
        {"veth0", "none",
         "virtio_net without a version; mlx5_core without a version; mlx5_core 28.39.1002"}}) {
    MachineSources sources = tree.sources();
    sources.device = tested;
    const MachineFacts found = machine_facts(sources);
    const std::map<std::string, std::string> facts(found.facts.begin(), found.facts.end());
    EXPECT_EQ(facts.at("NIC firmware"), firmware) << tested;
    EXPECT_EQ(facts.at("other NICs"), others) << tested;
    ASSERT_EQ(found.links.size(), 3U);
    EXPECT_FALSE(found.links[0].tested);
    EXPECT_EQ(found.links[2].tested, firmware != std::string("none"));
    EXPECT_EQ(machine_in(json_of(found)).links, found.links);
  }
}

TEST(MachineFacts, StateMtuAndRateAreOfEveryNicThatIsNotVirtual) {
  const Tree tree;
  for (const char* const name : {"eth1", "eth2"}) {
    tree.add_nic(name, tree.add_device(std::string("0") + name[3], ""));
  }
  fs::create_directories(tree.sys() / "class/net/docker0");
  const fs::path net = tree.sys() / "class/net";
  Tree::write(net / "eth1/carrier", "1\n");
  Tree::write(net / "eth1/mtu", "9000\n");
  Tree::write(net / "eth1/speed", "100000\n");
  Tree::write(net / "eth2/mtu", "1500\n");
  Tree::write(net / "eth2/speed", "-1\n");
  MachineSources sources = tree.sources();
  sources.device = "eth1";
  const MachineFacts machine = machine_facts(sources);
  const DriverSettings settings{.rings = "rx 1024, tx 1024"};
  const std::vector<NicFacts> expected = {{"eth1", true, 9000, 100e9, "gro on", true, settings},
                                          {"eth2", false, 1500, 0, "gro on", false}};
  EXPECT_EQ(machine.nics, expected);
  EXPECT_EQ(machine_in(json_of(machine)).nics, expected);
  EXPECT_FALSE(machine_in(Json::object()).nics.has_value()) << "an older heddle";
}

TEST(MachineFacts, ANicAtEightOfSixteenLanesIsRead) {
  const Tree tree;
  const fs::path device = tree.add_device("01", "");
  Tree::set_link(device, {"8", "16", "16.0 GT/s PCIe", "32.0 GT/s PCIe"});
  tree.add_nic("eth0", device);
  const MachineFacts machine = machine_facts(tree.sources());
  ASSERT_EQ(machine.links.size(), 1U);
  EXPECT_EQ(machine.links[0], (PcieLink{"eth0", false, 8, 16, 16, 32, 16, 32}));
  EXPECT_EQ(links_text(machine.links, false), "x8 at 16 GT/s");
  EXPECT_EQ(machine_in(json_of(machine)).links, machine.links);
}

TEST(MachineFacts, ALinkThatTheKernelDoesNotKnowIsNone) {
  const Tree tree;
  const fs::path device = tree.add_device("01", "");
  for (const char* const width : {"0", "63", "255", "Unknown"}) {
    Tree::set_link(device, {width, "16", "Unknown", "Unknown"});
    EXPECT_FALSE(pcie_link_of(device)) << width;
  }
  EXPECT_FALSE(pcie_link_of(tree.sys() / "nothing"));
}

TEST(MachineFacts, AcsIsOfTheBridgesAboveNicsAndGpus) {
  const Tree tree;
  tree.add_nic("eth0", tree.add_device("01", config_with(0x0d, 0x1d)));
  tree.add_nic("eth1", tree.add_device("02", config_with(0x0d, 0x01)));
  EXPECT_EQ(tree.facts().at("PCIe ACS"), "1 of 2 bridges redirect");
  tree.add_gpu(tree.add_device("03", config_with(0x01, 0)));
  EXPECT_EQ(tree.facts().at("PCIe ACS"),
            "1 of 3 bridges redirect: traffic between GPUs and NICs goes through the root complex");
  const MachineFacts machine = machine_facts(tree.sources());
  EXPECT_EQ(machine.acs, (AcsBridges{3, 1, true}));
  EXPECT_EQ(machine_in(json_of(machine)).acs, machine.acs);
}

TEST(MachineFacts, AConfigurationThatOnlyRootReadsIsNotKnown) {
  const Tree tree;
  tree.add_nic("eth0", tree.add_device("01", std::string(64, '\0')));
  EXPECT_EQ(tree.facts().at("PCIe ACS"), "not known: only root reads it");
  const MachineFacts machine = machine_facts(tree.sources());
  EXPECT_FALSE(machine.acs.has_value());
  EXPECT_FALSE(machine_in(json_of(machine)).acs.has_value());
  EXPECT_EQ(acs_of(""), Acs::kNotKnown);
  EXPECT_EQ(acs_of(std::string(256, '\0')), Acs::kNone);
  EXPECT_EQ(acs_of(std::string(4096, '\xff')), Acs::kNone);
  std::string endless = config_with(0x01, 0);
  endless[0x103] = 0x10;  // its next capability is itself
  EXPECT_EQ(acs_of(endless), Acs::kNone);
}

TEST(MachineFacts, GpusAreThoseOfNvidiaSmiOrOfTheDriver) {
  EXPECT_EQ(gpus_text(gpus_of_rows("NVIDIA H200, 550.54.15\nNVIDIA H200, 550.54.15\n"), 2),
            "2 x NVIDIA H200, driver 550.54.15");
  EXPECT_EQ(gpus_text(gpus_of_rows("[N/A], [N/A]\n"), 2), "unknown model, 1 more on the bus");
  EXPECT_EQ(gpus_text(gpus_of_rows("No devices were found, or none\n"), 0), "none");
  const Tree tree;
  tree.add_gpu(tree.add_device("03", ""));
  EXPECT_EQ(tree.facts().at("GPUs"), "1 on the bus that no driver lists");
  Tree::write(tree.proc() / "driver/nvidia/version",
              "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar 5\n");
  Tree::write(tree.proc() / "driver/nvidia/gpus/0000:03:00.0/information",
              "Model: \t\t NVIDIA A100\nIRQ: 1\n");
  EXPECT_EQ(tree.facts().at("GPUs"), "NVIDIA A100, driver 550.54.15");
}

TEST(MachineFacts, TheGidOfRoceIsNamedByItsIndex) {
  const Tree tree;
  const fs::path port = tree.sys() / "class/infiniband/mlx5_0/ports/1";
  Tree::write(port / "link_layer", "Ethernet\n");
  Tree::write(port / "gids/0", "fe80:0000:0000:0000:0000:0000:0000:0001\n");
  Tree::write(port / "gids/1", "0000:0000:0000:0000:0000:0000:0000:0000\n");
  Tree::write(port / "gids/2", "0000:0000:0000:0000:0000:ffff:0a00:0001\n");
  Tree::write(port / "gid_attrs/types/2", "IB/RoCE v1\n");
  EXPECT_EQ(tree.facts().at("RDMA GIDs"), "no RoCE v2 of IPv4");
  Tree::write(port / "gids/3", "0000:0000:0000:0000:0000:ffff:0a00:0001\n");
  Tree::write(port / "gid_attrs/types/3", "RoCE v2\n");
  EXPECT_EQ(tree.facts().at("RDMA GIDs"), "RoCE v2 of IPv4 at 3");
  EXPECT_EQ(rdma_ports(tree.sys()).front().name(), "mlx5_0 port 1");
}

TEST(MachineFacts, AClockIsSetWhileItsErrorIsKnown) {
  EXPECT_TRUE(clock_state(false, 1'000, 200).synchronized);
  EXPECT_DOUBLE_EQ(clock_state(false, 1'000, 200).error_s, 200e-6);
  EXPECT_EQ(clock_state(true, 16'000'000, 16'000'000), (ClockState{false, 0}));
  EXPECT_TRUE(clock_state(true, 5'000, 1'000).synchronized) << "chrony without rtcsync";
}

TEST(MachineFacts, DocumentsOfOtherVersionsAreNotKnown) {
  for (const char* const text :
       {"null", "{}", "[]", "7", R"({"pcie":7,"clock":[]})", R"({"pcie":[1,{}],"clock":{}})",
        R"({"pcie":[{"name":3}],"clock":{"synchronized":"yes"},"acs":7})"}) {
    const MachineFacts machine = machine_in(Json::parse(text));
    EXPECT_TRUE(machine.links.empty() && !machine.clock && !machine.acs) << text;
  }
}

TEST(MachineFacts, NumbersAreWithinTheBoundsOfTheirTypes) {
  const MachineFacts machine = machine_in(
      Json::parse(R"({"pcie":[{"name":"eth0","width":1e300,"most_width":-1e300,"speed":1e300,)"
                  R"("slot_width":-7}],)"
                  R"("clock":{"synchronized":true,"error_s":1e300},)"
                  R"("acs":{"bridges":4,"redirecting":1e300}})"));
  ASSERT_EQ(machine.links.size(), 1U);
  EXPECT_EQ(machine.links[0].width, 1'024);
  EXPECT_EQ(machine.links[0].most_width, 0);
  EXPECT_EQ(machine.links[0].slot_width, 0);
  EXPECT_EQ(machine.links[0].speed, 1e6);
  ASSERT_TRUE(machine.clock.has_value());
  EXPECT_EQ(machine.clock->error_s, 1e6);
  EXPECT_EQ(machine.acs, (AcsBridges{4, 4, false}));
}

TEST(MachineFacts, NamesThatAreNotPrintableAndLinksWithoutEndAreLeftOut) {
  Json document = {{"pcie", Json::array({{{"name", "a\nb"}}})}};
  for (size_t i = 0; i < 2 * params::kMostNics; ++i) {
    document["pcie"].push_back({{"name", "eth" + std::to_string(i)}});
  }
  const MachineFacts machine = machine_in(document);
  EXPECT_EQ(machine.links.size(), params::kMostNics);
  EXPECT_EQ(machine.links.front().name, "eth0");
}

}  // namespace
}  // namespace heddle::acceptance
