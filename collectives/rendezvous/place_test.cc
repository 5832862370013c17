// Places of ranks: read as they were written; one of another version names the side to upgrade,
// also where all addresses are known and no rendezvous takes place.
#include "collectives/rendezvous/place.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "base/config.h"
#include "base/temporary_folder.h"
#include "collectives/places.h"
#include "collectives/rendezvous/messages.h"

namespace heddle::collectives {
namespace {

std::string of_version(int version, const std::string& rest = " net 4001 127.0.0.1 9") {
  return "heddle" + std::to_string(version) + rest;
}

std::string side_of(int version, const std::string& theirs) {
  return "upgrade heddle on " + (version < kRendezvousVersion ? theirs : "this host");
}

TEST(ProcessPlaceTest, APlaceIsReadAsItWasWritten) {
  const ProcessPlace place = {.network = "net", .port = 4001, .address = "[fd00::1]", .number = 9};
  EXPECT_EQ(text_of(place), of_version(kRendezvousVersion, " net 4001 [fd00::1] 9"));
  const auto read = place_of(text_of(place), 3);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->network, place.network);
  EXPECT_EQ(read->port, place.port);
  EXPECT_EQ(read->address, place.address);
  EXPECT_EQ(read->number, place.number);
}

TEST(ProcessPlaceTest, APlaceOfAnotherVersionNamesTheSideToUpgrade) {
  for (const int version : {0, kRendezvousVersion - 1, kRendezvousVersion + 1}) {
    const auto read = place_of(of_version(version), 3);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ErrorCode::kVersion);
    EXPECT_EQ(read.error().message(), "cannot read where rank 3 is: it is of version " +
                                          std::to_string(version) +
                                          " of the rendezvous of ranks, this process has version " +
                                          std::to_string(kRendezvousVersion) + " (" +
                                          side_of(version, "the host of rank 3") + ")");
  }
  // Of a version that has other fields, too.
  EXPECT_EQ(place_of(of_version(kRendezvousVersion + 1, ""), 0).error().todo,
            "upgrade heddle on this host");
}

TEST(ProcessPlaceTest, ATextThatIsNoPlaceNamesNoSide) {
  for (const std::string& text :
       {std::string(), std::string("heddle"), std::string("heddle1x net 4001 - 9"),
        std::string("heddle-1 net 4001 - 9"), std::string("heddle99999999999999999999 a"),
        std::string("place 1"), of_version(kRendezvousVersion, " net"),
        of_version(kRendezvousVersion, " net 99999999 - 9")}) {
    const auto read = place_of(text, 3);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, ErrorCode::kVersion) << text;
    EXPECT_EQ(read.error().todo, "run the same version of heddle on all ranks") << text;
  }
  const std::string message = place_of("\x1b[2J" + std::string(5000, 'x'), 3).error().message();
  EXPECT_NE(message.find("it wrote '?[2Jxxx"), std::string::npos) << message;
  EXPECT_LT(message.size(), 600U);
}

// PyTorch's ranks with `bind`, or all on one host: nothing but these texts is compared before their
// connections.
TEST(ProcessPlaceTest, RanksWhoseAddressesAreKnownCompareTheirVersions) {
  const ConfigSources sources = {
      .command_line = {{"bind", "127.0.0.1"}}, .environment = {}, .file = {}, .default_files = {}};
  const auto endpoint =
      std::move(DrivenEndpoint::open(Config::load(config_keys(), sources).value())).value();
  for (const int version : {kRendezvousVersion - 1, +kRendezvousVersion, kRendezvousVersion + 1}) {
    const auto folder = std::move(TemporaryFolder::make("heddle-place")).value();
    const KeyStore store = folder_store(folder.path() + "/store").value();
    ASSERT_TRUE(store.set("heddle/place/1", of_version(version)));
    const auto members = find_members(*endpoint, store, 0, 2, KeyWait(seconds(30)));
    if (version == kRendezvousVersion) {
      ASSERT_TRUE(members) << members.error().message();
      EXPECT_EQ(members->addresses[1].port, 4001);
      continue;
    }
    ASSERT_FALSE(members);
    EXPECT_EQ(members.error().todo, side_of(version, "the host of rank 1"));
  }
}

}  // namespace
}  // namespace heddle::collectives
