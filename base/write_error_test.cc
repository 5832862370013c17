// errno values of failed writes become a code, a reason and advice.
#include "base/write_error.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace heddle {
namespace {

TEST(WriteError, ContainsAdvice) {
  const Error denied = cannot_write("cannot keep it", EROFS, "make room").error;
  EXPECT_EQ(denied.code, ErrorCode::kPermission);
  EXPECT_EQ(denied.todo, "choose a folder that you may write");
  const Error full = cannot_write("cannot keep it", ENOSPC, "make room").error;
  EXPECT_EQ(full.code, ErrorCode::kExhausted);
  EXPECT_EQ(full.todo, "make room");
  const Error other = cannot_write("cannot keep it", EIO, "make room").error;
  EXPECT_EQ(other.code, ErrorCode::kSystem);
  EXPECT_EQ(other.what, "cannot keep it");
}

}  // namespace
}  // namespace heddle
