// NCCL's names as its NCCL_DEBUG lines and profiler events have them.
#include "plugins/nccl/profiler/names.h"

#include <gtest/gtest.h>

#include <string>

namespace heddle::nccl {
namespace {

TEST(NcclNames, KnownNamesHaveTheirValue) {
  EXPECT_EQ(operation_of("ReduceScatter"), events::Operation::kReducescatter);
  EXPECT_EQ(operation_of("AlltoAll"), events::Operation::kAlltoall);
  EXPECT_EQ(element_type_of("ncclBfloat16"), events::ElementType::kBfloat16);
  EXPECT_EQ(element_type_of("ncclFloat8e5m2"), events::ElementType::kFloat8E5m2);
  EXPECT_EQ(algorithm_of("NVLS_TREE"), events::Algorithm::kNvlsTree);
  EXPECT_EQ(protocol_of("LL128"), events::Protocol::kLl128);
}

TEST(NcclNames, UnknownAndMissingNamesAreNoError) {
  EXPECT_EQ(operation_of("PutSignal"), std::nullopt);
  EXPECT_EQ(operation_of(nullptr), std::nullopt);
  EXPECT_EQ(element_type_of("ncclFloat4"), events::ElementType::kUnknown);
  EXPECT_EQ(algorithm_of(nullptr), events::Algorithm::kOther);
  EXPECT_EQ(protocol_of(""), events::Protocol::kOther);
}

// NCCL's text of the one type that it has no name for (2.28.9 and 2.30.7).
TEST(NcclNames, TheTypeThatNcclDoesNotNameIsUint8) {
  EXPECT_EQ(element_type_of("Unknown"), events::ElementType::kUint8);
}

TEST(NcclNames, NumbersOfVersion1HaveTheNamesOfLaterOnes) {
  EXPECT_EQ(operation_of(function_name(4)), events::Operation::kAllreduce);
  EXPECT_EQ(operation_of(function_name(7)), events::Operation::kRecv);
  EXPECT_EQ(function_name(200), nullptr);
  EXPECT_EQ(element_type_of(data_type_name(7)), events::ElementType::kFloat);
  EXPECT_EQ(data_type_name(10), nullptr);
  EXPECT_EQ(algorithm_of(algorithm_name(0)), events::Algorithm::kTree);
  EXPECT_EQ(algorithm_name(7), nullptr);
  EXPECT_EQ(protocol_of(protocol_name(2)), events::Protocol::kSimple);
  EXPECT_EQ(protocol_name(3), nullptr);
}

}  // namespace
}  // namespace heddle::nccl
