// Data types: every name is parsed as its type, and the error for an unknown name lists all names.
#include "collectives/data_type.h"

#include <gtest/gtest.h>

#include <set>

namespace heddle::collectives {
namespace {

TEST(DataTypeTest, EveryTypeIsReadByItsName) {
  std::set<std::string_view> names;
  for (size_t at = 0; at < kDataTypes; ++at) {
    const auto type = static_cast<DataType>(at);
    names.insert(name_of(type));
    const Result<DataType> parsed = parse_data_type(name_of(type));
    ASSERT_TRUE(parsed) << name_of(type);
    EXPECT_EQ(*parsed, type);
  }
  EXPECT_EQ(names.size(), kDataTypes);
}

TEST(DataTypeTest, EveryOperationIsReadByItsName) {
  std::set<std::string_view> names;
  for (size_t at = 0; at < kReduceOps; ++at) {
    const auto op = static_cast<ReduceOp>(at);
    names.insert(name_of(op));
    const Result<ReduceOp> parsed = parse_reduce_op(name_of(op));
    ASSERT_TRUE(parsed) << name_of(op);
    EXPECT_EQ(*parsed, op);
  }
  EXPECT_EQ(names.size(), kReduceOps);
}

TEST(DataTypeTest, NcclTestsNamesStandForTheirTypes) {
  EXPECT_EQ(*parse_data_type("half"), DataType::kFloat16);
  EXPECT_EQ(*parse_data_type("float"), DataType::kFloat32);
  EXPECT_EQ(*parse_data_type("double"), DataType::kFloat64);
  EXPECT_EQ(*parse_reduce_op("avg"), ReduceOp::kAverage);
  EXPECT_EQ(*parse_reduce_op("prod"), ReduceOp::kProduct);
}

TEST(DataTypeTest, SizesAreThoseOfTheElements) {
  EXPECT_EQ(size_of(DataType::kInt8), 1U);
  EXPECT_EQ(size_of(DataType::kUint16), 2U);
  EXPECT_EQ(size_of(DataType::kFloat16), 2U);
  EXPECT_EQ(size_of(DataType::kBfloat16), 2U);
  EXPECT_EQ(size_of(DataType::kFloat32), 4U);
  EXPECT_EQ(size_of(DataType::kUint64), 8U);
  EXPECT_TRUE(is_floating(DataType::kBfloat16));
  EXPECT_FALSE(is_floating(DataType::kUint64));
}

TEST(DataTypeTest, AnUnknownNameIsRefusedWithTheKnownOnes) {
  const Result<DataType> type = parse_data_type("float32");
  ASSERT_FALSE(type);
  EXPECT_EQ(type.error().code, ErrorCode::kInvalid);
  EXPECT_NE(type.error().todo.find("float"), std::string::npos);
  const Result<ReduceOp> op = parse_reduce_op("mean");
  ASSERT_FALSE(op);
  EXPECT_NE(op.error().todo.find("avg"), std::string::npos);
}

}  // namespace
}  // namespace heddle::collectives
