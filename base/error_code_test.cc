// Each error code has a unique name and a unique reason.
#include "base/error_code.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace heddle {
namespace {

TEST(ErrorCode, EachHasAUniqueNameAndReason) {
  std::set<std::string> names;
  std::set<std::string> reasons;
  for (int i = 0; i < kErrorCodes; ++i) {
    names.insert(name_of(static_cast<ErrorCode>(i)));
    reasons.insert(reason_of(static_cast<ErrorCode>(i)));
  }
  EXPECT_EQ(names.size(), size_t{kErrorCodes});
  EXPECT_EQ(reasons.size(), size_t{kErrorCodes});
  EXPECT_STREQ(name_of(ErrorCode::kPeerDead), "peer_dead");
  EXPECT_EQ(static_cast<int>(ErrorCode::kSystem), kErrorCodes - 1);
}

}  // namespace
}  // namespace heddle
