// Tests of the results that NCCL gets for errors.
#include "plugins/nccl/status.h"

#include <gtest/gtest.h>

namespace heddle::nccl {
namespace {

TEST(NcclStatus, ADeadPeerIsARemoteErrorForNccl) {
  EXPECT_EQ(status_of(ErrorCode::kPeerDead), kRemoteError);
  EXPECT_EQ(status_of(ErrorCode::kInvalid), kInvalidArgument);
  EXPECT_EQ(status_of(ErrorCode::kSystem), kSystemError);
}

}  // namespace
}  // namespace heddle::nccl
