// Remote shell: words of remote shells, and names of hosts.
#include "launch/remote_shell.h"

#include <gmock/gmock.h>

#include "launch/remote_stream.h"

namespace heddle::launch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(RemoteShellTest, SshGetsTheCommandAsOneWordForTheOtherHostsShell) {
  const std::vector<std::string> words =
      remote_words(parse_remote_shell("ssh").value(), "node1", {"/opt/my heddle", "agent"});
  EXPECT_EQ(words.front(), "ssh");
  EXPECT_THAT(words, ::testing::Contains("node1"));
  EXPECT_EQ(words.back(), "'/opt/my heddle' agent");
}

TEST(RemoteShellTest, OthersGetTheWordsOfTheCommand) {
  const RemoteShell shell = parse_remote_shell("srun -N1 --nodelist={host}").value();
  EXPECT_THAT(remote_words(shell, "n7", {"heddle", "agent"}),
              ElementsAre("srun", "-N1", "--nodelist=n7", "heddle", "agent"));
}

TEST(RemoteShellTest, WithoutAHostItIsAnError) {
  const auto shell = parse_remote_shell("rsh node1");
  ASSERT_FALSE(shell);
  EXPECT_THAT(shell.error().message(), HasSubstr("{host}"));
  EXPECT_FALSE(parse_remote_shell(""));
}

TEST(RemoteHostsTest, HaveTheAddressThatIsGivenElseTheirName) {
  const auto hosts = parse_remote_hosts("node1,root@node2,node3=10.0.0.3").value();
  ASSERT_EQ(hosts.size(), 3U);
  EXPECT_EQ(hosts[0].address, "node1");
  EXPECT_EQ(hosts[1].name, "root@node2");
  EXPECT_EQ(hosts[1].address, "node2");
  EXPECT_EQ(hosts[2].name, "node3");
  EXPECT_EQ(hosts[2].address, "10.0.0.3");
}

TEST(RemoteHostsTest, AnOptionOfARemoteShellIsNoHost) {
  EXPECT_FALSE(parse_remote_hosts("-oProxyCommand=reboot"));
  EXPECT_FALSE(parse_remote_hosts("node1,--flag"));
  EXPECT_FALSE(parse_remote_hosts("node1;reboot"));
  EXPECT_FALSE(parse_remote_hosts("node1=$(reboot)"));
  EXPECT_FALSE(parse_remote_hosts("node1,"));
  EXPECT_FALSE(parse_remote_hosts(""));
}

TEST(RemoteStreamTest, AnOptionOfARemoteShellIsNoHost) {
  for (const char* const host : {"-oProxyCommand=reboot", "--flag", "node1;reboot", ""}) {
    const auto stream = RemoteStream::start(parse_remote_shell("ssh").value(), host, {});
    ASSERT_FALSE(stream) << host;
    EXPECT_EQ(stream.error().code, ErrorCode::kInvalid) << host;
  }
}

TEST(RemoteHostsTest, AHostMayBeThereOnce) {
  EXPECT_FALSE(parse_remote_hosts("node1,node2,node1"));
}

TEST(ShellLineTest, QuotesWhatAShellWouldChange) {
  EXPECT_EQ(shell_line({"a b", "it's", "", "x=1", "$HOME"}), "'a b' 'it'\\''s' '' x=1 '$HOME'");
}

}  // namespace
}  // namespace heddle::launch
