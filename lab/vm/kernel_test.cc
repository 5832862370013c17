// Tests of finding a kernel, in folders of files.
#include "lab/vm/kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace heddle::lab::vm {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kModules =
    "kernel/drivers/infiniband/sw/rxe/rdma_rxe.ko: kernel/core/ib_core.ko\n"
    "kernel/core/ib_core.ko:\n"
    "kernel/fs/9p/9p.ko: kernel/net/9p/9pnet.ko kernel/fs/netfs.ko\n"
    "kernel/net/9p/9pnet.ko:\n"
    "kernel/net/9p/9pnet_virtio.ko: kernel/net/9p/9pnet.ko kernel/virtio-ring.ko\n"
    "kernel/fs/netfs.ko:\n"
    "kernel/virtio-ring.ko:\n";

class KernelTest : public testing::Test {
 protected:
  KernelTest()
      : root_(fs::path(testing::TempDir()) /
              (std::string("kernel_test_") +
               testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::remove_all(root_);
    places_ = {(root_ / "cache").string(), (root_ / "host").string()};
  }
  ~KernelTest() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  void add_kernel(const std::string& below, const std::string& version,
                  const std::string& modules = kModules) const {
    write(below + "/boot/vmlinuz-" + version, "image");
    write(below + "/lib/modules/" + version + "/modules.dep", modules);
  }
  std::string path(const std::string& below) const { return (root_ / below).string(); }
  std::string why(const std::string& given = "") const {
    const auto kernel = find_kernel(given, places_);
    EXPECT_FALSE(kernel);
    return kernel ? "" : kernel.error().message();
  }

  fs::path root_;
  KernelPlaces places_;
};

TEST_F(KernelTest, NewestOfTheCacheComesBeforeTheHosts) {
  add_kernel("cache/6.1.0-9-amd64", "6.1.0-9-amd64");
  add_kernel("cache/6.1.0-56-amd64", "6.1.0-56-amd64");
  add_kernel("host", "6.12.0-1-amd64");
  EXPECT_EQ(find_kernel("", places_)->version, "6.1.0-56-amd64");
  fs::remove_all(root_ / "cache");
  EXPECT_EQ(find_kernel("", places_)->version, "6.12.0-1-amd64");
}

TEST_F(KernelTest, UnpackedImageIsPreferred) {
  add_kernel("host", "6.1");
  EXPECT_EQ(find_kernel("", places_)->image, path("host/boot/vmlinuz-6.1"));
  write("host/boot/vmlinux-6.1", "image");
  EXPECT_EQ(find_kernel("", places_)->image, path("host/boot/vmlinux-6.1"));
}

TEST_F(KernelTest, UnfitKernelsArePassedOverWithTheReason) {
  EXPECT_THAT(why(), HasSubstr("scripts/setup --vm"));
  add_kernel("host", "6.1-cloud", "kernel/fs/9p/9p.ko:\n");
  EXPECT_THAT(why(), HasSubstr("6.1-cloud is there, but it has no soft-RoCE"));
  add_kernel("host", "6.1-cloud", "kernel/rdma_rxe.ko.xz:\n");
  EXPECT_THAT(why(), HasSubstr("its modules are compressed"));
  fs::remove(root_ / "host/lib/modules/6.1-cloud/modules.dep");
  EXPECT_THAT(why(), HasSubstr("depmod has not been run over it"));
  fs::remove(root_ / "host/boot/vmlinuz-6.1-cloud");
  EXPECT_THAT(why(), HasSubstr("boot/ has no image of it"));
  add_kernel("host", "5.10");
  EXPECT_EQ(find_kernel("", places_)->version, "5.10");
}

TEST_F(KernelTest, GivenFolderOrImage) {
  add_kernel("own", "6.1");
  EXPECT_EQ(find_kernel(path("own"), places_)->version, "6.1");
  const auto kernel = find_kernel(path("own/boot/vmlinuz-6.1"), places_);
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->modules, path("own/lib/modules/6.1"));
  EXPECT_THAT(why(path("nothing")), HasSubstr("there is no such folder or file"));
  write("own/boot/image", "");
  EXPECT_THAT(why(path("own/boot/image")), HasSubstr("does not end with a version"));
}

TEST_F(KernelTest, ModulesComeAfterWhatTheyNeedAndOnce) {
  add_kernel("host", "6.1");
  write("host/lib/modules/6.1/modules.builtin", "kernel/drivers/virtio/virtio_pci.ko\n");
  const auto kernel = find_kernel("", places_);
  ASSERT_TRUE(kernel);
  const auto files = module_files(*kernel, {"virtio_pci", "9pnet_virtio", "9p", "virtio_ring"});
  ASSERT_TRUE(files);
  EXPECT_THAT(*files, ElementsAre("kernel/virtio-ring.ko", "kernel/net/9p/9pnet.ko",
                                  "kernel/net/9p/9pnet_virtio.ko", "kernel/fs/netfs.ko",
                                  "kernel/fs/9p/9p.ko"));
  EXPECT_THAT(module_files(*kernel, {"overlay"}).error().message(),
              HasSubstr("it has no module overlay"));
}

}  // namespace
}  // namespace heddle::lab::vm
