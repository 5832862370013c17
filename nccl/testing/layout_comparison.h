// LayoutComparison: a struct of heddle's declarations beside the one of NCCL's own headers, member
// by member. The tests of nccl/layout call it.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

namespace heddle::nccl::testing {

// Why the tests of layouts are skipped.
inline constexpr const char* kNoHeaders =
    "no headers of NCCL to compare with: configure with -DHEDDLE_NCCL=DIR";

// Whether a value of either type is passed and stored the same way: functions with the same kinds
// of arguments, integers and enumerations of one size, any two pointers to data.
template <typename A, typename B>
struct SameKind {
  static constexpr bool of_scalars() {
    if constexpr (std::is_pointer_v<A> || std::is_pointer_v<B>) {
      return std::is_pointer_v<A> && std::is_pointer_v<B>;
    } else if constexpr (std::is_floating_point_v<A> || std::is_floating_point_v<B>) {
      return std::is_same_v<A, B>;
    } else {
      return sizeof(A) == sizeof(B);
    }
  }
  static constexpr bool kValue = of_scalars();
};

template <typename A, typename B, typename... As, typename... Bs>
struct SameKind<A (*)(As...), B (*)(Bs...)> {
  static constexpr bool of_functions() {
    if constexpr (sizeof...(As) == sizeof...(Bs)) {
      return SameKind<A, B>::kValue && (SameKind<As, Bs>::kValue && ...);
    } else {
      return false;
    }
  }
  static constexpr bool kValue = of_functions();
};

// Arguments that point to numbers: the numbers count, too (int* beside size_t*).
template <typename A, typename B>
requires(std::is_arithmetic_v<A>&& std::is_arithmetic_v<B>) struct SameKind<A*, B*> {
  static constexpr bool kValue = SameKind<A, B>::kValue;
};

template <typename Ours, typename Theirs>
class LayoutComparison {
 public:
  explicit LayoutComparison(std::string name) : name_(std::move(name)) {
    EXPECT_EQ(sizeof(Ours), sizeof(Theirs)) << name_;
    EXPECT_EQ(alignof(Ours), alignof(Theirs)) << name_;
  }

  template <typename A, typename B>
  LayoutComparison& member(const char* member_name, A Ours::*ours, B Theirs::*theirs) {
    EXPECT_EQ(offset(ours), offset(theirs)) << name_ << "::" << member_name;
    EXPECT_EQ(sizeof(A), sizeof(B)) << name_ << "::" << member_name;
    EXPECT_TRUE((SameKind<A, B>::kValue)) << name_ << "::" << member_name;
    return *this;
  }

 private:
  template <typename Struct, typename Member>
  static ptrdiff_t offset(Member Struct::*member) {
    static const Struct kInstance{};
    return reinterpret_cast<const char*>(&(kInstance.*member)) -
           reinterpret_cast<const char*>(&kInstance);
  }

  std::string name_;
};

}  // namespace heddle::nccl::testing
