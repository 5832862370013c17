// Result<T>: a value or an Error, with std::expected's names. Ignoring one is a compile error with
// -Werror. An Error has what failed, why, and what to do about it, fit for display to a user.
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/check.h"

namespace heddle {

enum class ErrorCode {
  kInvalid,      // the request is meaningless (impossible size, unknown name)
  kUnavailable,  // not available now (no listener, no such device)
  kPermission,   // the system refuses
  kInUse,        // in use by another program (a port)
  kTimeout,      // no answer in time
  kPeerDead,     // the peer stopped answering, or reported its end
  kCancelled,    // cancelled by this side or by the peer
  kTruncated,    // a message was larger than the receive it met
  kClosed,       // the connection or endpoint is closed
  kVersion,      // incompatible versions
  kExhausted,    // a stated bound is reached; try again later
  kSystem,       // the operating system failed in another way
};

struct Error {
  ErrorCode code = ErrorCode::kSystem;
  std::string what;  // what failed: "cannot listen on port 4791"
  std::string why;   // the reason: "another process uses it"
  std::string todo;  // what the user can do: "choose another with --port"

  // One line: "what: why (todo)".
  std::string message() const {
    std::string text = what;
    if (!why.empty()) text += ": " + why;
    if (!todo.empty()) text += " (" + todo + ")";
    return text;
  }
};

// Wraps an Error so that a function returning any Result<T> can `return fail(...)`.
struct Unexpected {
  Error error;
};

// Its texts may have parts that a peer or a file chose: they become printable (base/printable.h).
Unexpected fail(ErrorCode code, std::string what, std::string why = {}, std::string todo = {});

inline Unexpected fail(Error error) { return {std::move(error)}; }

template <typename T = void>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit
  Result(Unexpected unexpected)                                          // NOLINT: implicit
      : state_(std::in_place_index<1>, std::move(unexpected.error)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& value() & {
    CHECK(has_value());
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    CHECK(has_value());
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    CHECK(has_value());
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  template <typename U>
  T value_or(U&& other) const& {
    return has_value() ? value() : static_cast<T>(std::forward<U>(other));
  }

  const Error& error() const& {
    CHECK(!has_value());
    return *std::get_if<1>(&state_);
  }
  Error&& error() && {
    CHECK(!has_value());
    return std::move(*std::get_if<1>(&state_));
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Unexpected unexpected) : error_(std::move(unexpected.error)) {}  // NOLINT

  bool has_value() const { return !error_.has_value(); }
  explicit operator bool() const { return has_value(); }
  void value() const { CHECK(has_value()); }
  const Error& error() const& {
    CHECK(!has_value());
    return *error_;
  }
  Error&& error() && {
    CHECK(!has_value());
    return *std::move(error_);
  }

 private:
  std::optional<Error> error_;
};

}  // namespace heddle
