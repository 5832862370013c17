// Which hosts of a job a machine's recording is about: by name, and by boot id where names differ.
#include "insight/machine_hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heddle::insight {
namespace {

using ::testing::ElementsAre;

TEST(MachineHosts, APodIsFoundByTheBootIdOfItsMachine) {
  MachineHosts hosts;
  hosts.add({{"host", "worker-0"}, {"clock", "boot-a time:[1]"}});
  hosts.add({{"host", "worker-1"}, {"clock", "boot-a time:[2]"}});
  hosts.add({{"host", "worker-2"}, {"clock", "boot-b time:[1]"}});
  EXPECT_THAT(hosts.of({{"host", "node7"}, {"clock", "boot-a time:[1]"}}),
              ElementsAre("worker-0", "worker-1"));
  EXPECT_THAT(hosts.of({{"host", "node9"}, {"clock", "boot-c time:[1]"}}), ElementsAre("node9"));
  EXPECT_THAT(hosts.of({{"host", "node9"}}), ElementsAre("node9"));
}

TEST(MachineHosts, ANameComesBeforeTheBootId) {
  MachineHosts hosts;
  hosts.add({{"host", "h1"}, {"clock", "boot-a time:[1]"}});
  hosts.add({{"host", "h2"}, {"clock", "boot-a time:[1]"}});
  EXPECT_THAT(hosts.of({{"host", "h2"}, {"clock", "boot-a time:[1]"}}), ElementsAre("h2"));
}

}  // namespace
}  // namespace heddle::insight
