#pragma once
// The blobs of one manifest on their way to another place, several at once. Any thread.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "base/context.h"
#include "base/result.h"

namespace mist::registry {

inline constexpr std::size_t kBlobsAtOnce = 4;
/// The memory that they may take together, in bytes; as much as the largest one may take alone.
inline constexpr std::uint64_t kBlobBytesAtOnce = std::uint64_t{256} << 20;

/// Calls `transfer(i, context)` for each of `sizes`, kBlobsAtOnce at once at most, and waits for all of them.
/// `sizes`: the bytes of memory that each may take, which are kBlobBytesAtOnce together at most; 0: none. The
/// first error stops the others and is returned.
Status transfer_blobs(std::span<const std::uint64_t> sizes, const Context& context,
                      const std::function<Status(std::size_t, const Context&)>& transfer);

}  // namespace mist::registry
