// Link names: directions of plain and of parallel links.
#include "acceptance/link_names.h"

#include <gtest/gtest.h>

namespace heddle::acceptance {
namespace {

TEST(LinkNames, ADirectionHasTheNumberOfItsLink) {
  EXPECT_EQ(direction_name("leaf0 - spine1", true), "leaf0 to spine1");
  EXPECT_EQ(direction_name("leaf0 - spine1", false), "spine1 to leaf0");
  EXPECT_EQ(direction_name("leaf0 - spine1 #2", true), "leaf0 to spine1 #2");
  EXPECT_EQ(direction_name("leaf0 - spine1 #2", false), "spine1 to leaf0 #2");
  EXPECT_EQ(direction_name("h3.1 - leaf0", false), "leaf0 to h3.1");
}

}  // namespace
}  // namespace heddle::acceptance
