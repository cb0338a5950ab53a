#pragma once
// The error of a program that can't read or write what it keeps. Any thread.

#include <utility>

#include "base/result.h"

namespace mist {

/// The fact of that error: a database refuses us, isn't there or is damaged, or bytes beside it are. It is
/// for whoever runs the program: whatever was asked for isn't the reason, and its words name files and
/// servers of this machine.
struct StorageFault {};

/// The fact of an error: there is no room on a disk for what was to be written. Nothing of it was kept.
struct StorageFull {};

template <typename T>
Result<T> of_storage(Result<T> result) {
  if (!result.ok()) result.error().details.set(StorageFault());
  return result;
}

inline bool is_storage_fault(const Error& failure) { return failure.detail<StorageFault>() != nullptr; }
inline bool is_storage_full(const Error& failure) { return failure.detail<StorageFull>() != nullptr; }

}  // namespace mist
