#pragma once
// A bound on how many threads do something slow at once: whoever finds no place doesn't wait for one. Any
// thread.

#include <atomic>

namespace mist::catalog {

/// One of the places that `free` counts; it is given back in the end.
class Place {
 public:
  explicit Place(std::atomic<int>& free) : free_(free), taken_(--free >= 0) {}
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() { ++free_; }
  bool taken() const { return taken_; }

 private:
  std::atomic<int>& free_;
  const bool taken_;
};

}  // namespace mist::catalog
