#pragma once
// Owners of C handles: Handle<T, &T_delete> for pointers, UniqueFd for descriptors, out_ptr for `T**`
// results.

#include <unistd.h>

#include <memory>
#include <utility>

namespace mist {

template <auto Free>
struct HandleDeleter {
  template <typename T>
  void operator()(T* pointer) const noexcept {
    Free(pointer);
  }
};

/// `using Parser = Handle<yaml_parser_t, &free_parser>;`
template <typename T, auto Free>
using Handle = std::unique_ptr<T, HandleDeleter<Free>>;

/// g++ 12 has no std::out_ptr: `c_create(out_ptr(handle))`.
template <typename T, typename D>
class OutPtr {
 public:
  explicit OutPtr(std::unique_ptr<T, D>& owner) : owner_(owner) {}
  OutPtr(const OutPtr&) = delete;
  OutPtr& operator=(const OutPtr&) = delete;
  ~OutPtr() { owner_.reset(raw_); }
  operator T**() { return &raw_; }

 private:
  std::unique_ptr<T, D>& owner_;
  T* raw_ = nullptr;
};
template <typename T, typename D>
OutPtr<T, D> out_ptr(std::unique_ptr<T, D>& owner) {
  return OutPtr<T, D>(owner);
}

/// Owns a file descriptor.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~UniqueFd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

}  // namespace mist
