// Tests of reading RDMA devices from a folder of files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "datapath/rdma_devices.h"

namespace heddle::datapath {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::Pair;

class RdmaFactsTest : public testing::Test {
 protected:
  RdmaFactsTest()
      : root_(fs::path(testing::TempDir()) /
              (std::string("rdma_facts_") +
               testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~RdmaFactsTest() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << "\n";
  }
  void add_gid(const std::string& port, int index, const std::string& gid, const std::string& type,
               const std::string& interface) const {
    write(port + "/gids/" + std::to_string(index), gid);
    write(port + "/gid_attrs/types/" + std::to_string(index), type);
    write(port + "/gid_attrs/ndevs/" + std::to_string(index), interface);
  }
  RdmaFacts read() const {
    return read_rdma_facts((root_ / "sys").string(), (root_ / "dev").string());
  }

  fs::path root_;
};

TEST_F(RdmaFactsTest, NothingWithoutAFolder) {
  EXPECT_TRUE(read().devices.empty());
  EXPECT_TRUE(read().masters.empty());
}

TEST_F(RdmaFactsTest, ReadsPortsGidsAndNodes) {
  const std::string port = "sys/class/infiniband/mlx5_0/ports/1";
  write(port + "/state", "4: ACTIVE");
  write(port + "/link_layer", "Ethernet");
  write(port + "/rate", "100 Gb/sec (4X EDR)");
  write(port + "/gids/0", "0000:0000:0000:0000:0000:0000:0000:0000");
  add_gid(port, 10, "fd00:0000:0000:0000:0000:0000:0000:0001", "IB/RoCE v1", "eth0");
  add_gid(port, 3, "0000:0000:0000:0000:0000:ffff:0a00:0001", "RoCE v2", "bond0");
  write(port + "/gids/junk", "0000:0000:0000:0000:0000:ffff:0a00:0001");
  write("sys/class/infiniband/mlx5_0/ports/2/state", "1: DOWN");
  write("sys/class/infiniband/mlx5_0/ports/2/link_layer", "InfiniBand");
  write("sys/class/infiniband/mlx5_0/device/vendor", "0x15b3");
  write("sys/class/infiniband_verbs/abi_version", "6");
  write("sys/class/infiniband_verbs/uverbs7/ibdev", "mlx5_0");
  write("dev/infiniband/uverbs7", "");
  write("sys/class/net/bond0/mtu", "1500");
  write("sys/class/net/eth0/mtu", "1500");
  fs::create_symlink("../bond0", root_ / "sys/class/net/eth0/master");
  const RdmaFacts facts = read();
  ASSERT_EQ(facts.devices.size(), 1u);
  const RdmaDevice& device = facts.devices[0];
  EXPECT_EQ(device.name, "mlx5_0");
  EXPECT_EQ(device.node, (root_ / "dev/infiniband/uverbs7").string());
  EXPECT_EQ(device.node_state, NodeState::kUsable);
  EXPECT_FALSE(device.software);
  ASSERT_EQ(device.ports.size(), 2u);
  EXPECT_EQ(device.ports[0].state, "ACTIVE");
  EXPECT_TRUE(device.ports[0].ethernet);
  EXPECT_EQ(device.ports[0].rate, "100 Gb/sec (4X EDR)");
  ASSERT_EQ(device.ports[0].gids.size(), 2u);
  EXPECT_EQ(device.ports[0].gids[0].index, 3u);
  EXPECT_TRUE(device.ports[0].gids[0].roce_v2);
  EXPECT_EQ(device.ports[0].gids[0].interface, "bond0");
  EXPECT_EQ(rdma_address_text(device.ports[0].gids[0].address), "10.0.0.1");
  EXPECT_EQ(device.ports[0].gids[1].index, 10u);
  EXPECT_FALSE(device.ports[0].gids[1].roce_v2);
  EXPECT_EQ(device.ports[1].number, 2u);
  EXPECT_EQ(device.ports[1].state, "DOWN");
  EXPECT_FALSE(device.ports[1].ethernet);
  EXPECT_TRUE(device.ports[1].gids.empty());
  EXPECT_THAT(facts.masters, ElementsAre(Pair("eth0", "bond0")));
}

TEST_F(RdmaFactsTest, ADeviceWithoutABusDeviceIsSoftware) {
  write("sys/class/infiniband/rxe0/ports/1/state", "4: ACTIVE");
  EXPECT_TRUE(read().devices[0].software);
}

TEST_F(RdmaFactsTest, NodesMayBeMissingOrForbidden) {
  write("sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE");
  EXPECT_EQ(read().devices[0].node, "");
  write("sys/class/infiniband_verbs/uverbs0/ibdev", "mlx5_0");
  EXPECT_EQ(read().devices[0].node_state, NodeState::kMissing);
  write("dev/infiniband/uverbs0", "");
  fs::permissions(root_ / "dev/infiniband/uverbs0", fs::perms::none);
  EXPECT_EQ(read().devices[0].node_state,
            geteuid() == 0 ? NodeState::kUsable : NodeState::kForbidden);
}

}  // namespace
}  // namespace heddle::datapath
