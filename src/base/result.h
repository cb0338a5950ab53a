#pragma once
// Result<T>: a T or an Error, and MIST_TRY to pass errors up. Nothing above the wrappers of foreign libraries
// throws. A plain value; any thread.

#include <expected>
#include <type_traits>
#include <utility>

#include "base/error.h"

namespace mist {

template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  // Implicit on purpose: `return value;` and `return error(…);` are the way to make one.
  template <typename U = T>
    requires(std::is_constructible_v<T, U &&> && !std::is_same_v<std::remove_cvref_t<U>, Result> &&
             !std::is_same_v<std::remove_cvref_t<U>, Error>)
  Result(U&& value) : state_(std::in_place, std::forward<U>(value)) {}
  Result(Error error) : state_(std::unexpect, std::move(error)) {}

  bool ok() const { return state_.has_value(); }
  explicit operator bool() const { return ok(); }

  T& operator*() & { return checked(); }
  const T& operator*() const& { return const_cast<Result*>(this)->checked(); }
  /// By value, so that `for (auto& x : *f())` does not dangle.
  T operator*() && { return std::move(checked()); }
  T* operator->() { return &checked(); }
  const T* operator->() const { return &const_cast<Result*>(this)->checked(); }

  T value_or(T fallback) && { return ok() ? std::move(*state_) : std::move(fallback); }

  Error& error() & { return failed(); }
  const Error& error() const& { return const_cast<Result*>(this)->failed(); }
  Error&& error() && { return std::move(failed()); }

  /// Adds a frame if this is an error: `return read(path).in("while reading the config");`.
  Result&& in(std::string_view frame) && {
    if (!ok()) state_.error().frames.emplace_back(frame);
    return std::move(*this);
  }

 private:
  T& checked() {
    MIST_CHECK(ok());
    return *state_;
  }
  Error& failed() {
    MIST_CHECK(!ok());
    return state_.error();
  }
  std::expected<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() = default;
  Result(Error error) : state_(std::unexpect, std::move(error)) {}

  bool ok() const { return state_.has_value(); }
  explicit operator bool() const { return ok(); }

  Error& error() & { return failed(); }
  const Error& error() const& { return const_cast<Result*>(this)->failed(); }
  Error&& error() && { return std::move(failed()); }

  Result&& in(std::string_view frame) && {
    if (!ok()) state_.error().frames.emplace_back(frame);
    return std::move(*this);
  }

 private:
  Error& failed() {
    MIST_CHECK(!ok());
    return state_.error();
  }
  std::expected<void, Error> state_;
};

using Status = Result<void>;

}  // namespace mist

#define MIST_CONCAT_INNER(a, b) a##b
#define MIST_CONCAT(a, b) MIST_CONCAT_INNER(a, b)

/// `MIST_TRY(auto text, read_file(path));` binds the value or returns the error from this function.
#define MIST_TRY(declaration, ...)                              \
  auto MIST_CONCAT(mist_try_, __LINE__) = (__VA_ARGS__);        \
  if (!MIST_CONCAT(mist_try_, __LINE__).ok()) [[unlikely]]      \
    return std::move(MIST_CONCAT(mist_try_, __LINE__)).error(); \
  declaration = *std::move(MIST_CONCAT(mist_try_, __LINE__))

/// `MIST_TRY_VOID(write_file(path, text));` returns the error from this function, if there is one.
#define MIST_TRY_VOID(...)                                                \
  do {                                                                    \
    if (auto mist_status = (__VA_ARGS__); !mist_status.ok()) [[unlikely]] \
      return std::move(mist_status).error();                              \
  } while (false)
