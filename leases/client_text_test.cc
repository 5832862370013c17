// Texts of etcd's client: base64, words of transactions, errors.
#include "leases/etcd/client_text.h"

#include <gtest/gtest.h>

namespace heddle::leases {
namespace {

TEST(ClientText, Base64IsDecoded) {  // vectors of RFC 4648, section 10
  EXPECT_EQ(from_base64(""), "");
  EXPECT_EQ(from_base64("Zg=="), "f");
  EXPECT_EQ(from_base64("Zm8="), "fo");
  EXPECT_EQ(from_base64("Zm9v"), "foo");
  EXPECT_EQ(from_base64("Zm9vYmFy"), "foobar");
  EXPECT_EQ(from_base64("Zm9"), std::nullopt);
  EXPECT_EQ(from_base64("Zm9*"), std::nullopt);
}

TEST(ClientText, WordsAreQuotedAsGoReadsThem) {
  EXPECT_EQ(quoted_for_client("{\"a\": 1}\n"), "\"{\\\"a\\\": 1}\\x0a\"");
  EXPECT_EQ(quoted_for_client("\\"), "\"\\\\\"");
}

TEST(ClientText, ErrorsAreTakenOutOfJson) {
  EXPECT_EQ(error_of_client(R"({"level":"warn","error":"no such host"})"), "no such host");
  EXPECT_EQ(error_of_client("Error: context deadline exceeded"),
            "Error: context deadline exceeded");
  EXPECT_EQ(error_of_client(""), "its client failed and printed nothing");
}

}  // namespace
}  // namespace heddle::leases
