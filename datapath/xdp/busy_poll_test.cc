// Preferred busy polling of an XDP socket, against a kernel that is a table of answers: what is
// asked for, what is done after each refusal, and when a socket without a NAPI is left alone.
#include "datapath/xdp/busy_poll.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cerrno>
#include <map>
#include <string>
#include <utility>

#include "datapath/xdp/params.h"

namespace heddle::datapath {
namespace {

// SO_PREFER_BUSY_POLL and SO_BUSY_POLL_BUDGET of Linux 5.11.
constexpr int kPrefer = 69;
constexpr int kBudget = 70;

using State = XdpBusyPoll::State;
using Values = std::map<int, int>;

class XdpBusyPollTest : public testing::Test {
 protected:
  BusyPollKernel kernel() {
    return {.set =
                [this](int option, int value) {
                  const auto refused = refused_.find(option);
                  if (refused != refused_.end()) return refused->second;
                  set_[option] = value;
                  return 0;
                },
            .napi = [this] { return napi_; }};
  }
  bool left_alone() { return set_[SO_BUSY_POLL] == 0 && set_[kPrefer] == 0; }

  Values refused_;  // errno by option
  Values set_;
  uint32_t napi_ = 0;
};

TEST_F(XdpBusyPollTest, ZeroAsksForNothing) {
  XdpBusyPoll poll(kernel(), 0);
  poll.settle(true);
  EXPECT_EQ(poll.state(), State::kOff);
  EXPECT_TRUE(set_.empty());
  EXPECT_TRUE(poll.remark().empty());
}

TEST_F(XdpBusyPollTest, ANapiThatIsKnownAtBindTurnsItOnBeforeAFrameArrives) {
  XdpBusyPoll poll(kernel(), 20);
  EXPECT_EQ(poll.state(), State::kPending);
  EXPECT_EQ(set_,
            (Values{{kPrefer, 1}, {SO_BUSY_POLL, 20}, {kBudget, xdp_params::kBusyPollBudget}}));
  napi_ = 8'193;
  poll.settle(false);
  EXPECT_EQ(poll.state(), State::kOn);
  EXPECT_TRUE(poll.remark().empty());
}

TEST_F(XdpBusyPollTest, ANapiThatTheFirstFrameNamesTurnsItOnThen) {
  XdpBusyPoll poll(kernel(), 20);
  poll.settle(false);
  EXPECT_EQ(poll.state(), State::kPending);
  napi_ = 8'193;
  poll.settle(true);
  EXPECT_EQ(poll.state(), State::kOn);
}

// As veth of Linux 6.13 and newer: else each receive without input would cost a call for nothing.
TEST_F(XdpBusyPollTest, AQueueWithoutANapiAfterItsFirstFrameIsLeftAloneWithTheReason) {
  XdpBusyPoll poll(kernel(), 20);
  poll.settle(false);
  poll.settle(true);
  EXPECT_EQ(poll.state(), State::kOff);
  EXPECT_TRUE(left_alone());
  EXPECT_NE(poll.remark().find("no NAPI"), std::string::npos) << poll.remark();
  napi_ = 8'193;
  poll.settle(true);
  EXPECT_EQ(poll.state(), State::kOff) << "its options are withdrawn";
}

TEST_F(XdpBusyPollTest, ARefusedPreferenceIsNamedWithWhatItNeeds) {
  for (const auto& [error, needed] :
       {std::pair(EPERM, "CAP_NET_ADMIN"), {ENOPROTOOPT, "Linux 5.11"}}) {
    refused_ = {{kPrefer, error}};
    set_.clear();
    XdpBusyPoll poll(kernel(), 20);
    poll.settle(false);
    EXPECT_EQ(poll.state(), State::kOff);
    EXPECT_TRUE(set_.empty()) << "the rest means nothing without it";
    EXPECT_NE(poll.remark().find("SO_PREFER_BUSY_POLL"), std::string::npos) << poll.remark();
    EXPECT_NE(poll.remark().find(needed), std::string::npos) << poll.remark();
  }
}

TEST_F(XdpBusyPollTest, ARefusedSpanWithdrawsThePreference) {
  refused_ = {{SO_BUSY_POLL, EPERM}};
  const XdpBusyPoll poll(kernel(), 20);
  EXPECT_EQ(poll.state(), State::kOff);
  EXPECT_EQ(set_, (Values{{kPrefer, 0}}));
  EXPECT_NE(poll.remark().find("SO_BUSY_POLL (Operation not permitted)"), std::string::npos)
      << poll.remark();
}

TEST_F(XdpBusyPollTest, ARefusedBudgetIsNamedAndTheRestGoesOn) {
  refused_ = {{kBudget, EPERM}};
  napi_ = 8'193;
  XdpBusyPoll poll(kernel(), 20);
  poll.settle(false);
  EXPECT_EQ(poll.state(), State::kOn);
  EXPECT_NE(poll.remark().find("SO_BUSY_POLL_BUDGET"), std::string::npos) << poll.remark();
}

// No socket at all: the calls fail, and are no NAPI.
TEST_F(XdpBusyPollTest, AFailedCallIsItsErrorAndNoNapi) {
  const BusyPollKernel none = busy_poll_kernel(-1);
  EXPECT_EQ(none.set(SO_BUSY_POLL, 1), EBADF);
  EXPECT_EQ(none.napi(), 0U);
}

}  // namespace
}  // namespace heddle::datapath
