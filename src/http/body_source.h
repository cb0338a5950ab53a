#pragma once
// BodySource: the body of a request that is read while it is sent, straight into the client's buffer, so that
// no copy of it is made and not all of it must be in memory.

#include <cstdint>
#include <span>

#include "base/result.h"

namespace mist::http {

class BodySource {
 public:
  virtual ~BodySource() = default;

  /// In bytes; always the same.
  virtual std::uint64_t size() const = 0;
  /// Fills all of `to` with the bytes from `offset` on; `offset + to.size()` is never beyond the size. Where
  /// a request is sent again, it begins at 0 again. An error ends the exchange, with that error, and its
  /// connection, so that the server gets no complete request.
  ///
  /// Called as long as somebody waits for the exchange, by one thread at a time, mostly by that which serves
  /// all exchanges of a client: it may wait for a disk, for nothing else.
  virtual Status read(std::uint64_t offset, std::span<char> to) const = 0;
};

}  // namespace mist::http
