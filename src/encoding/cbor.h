#pragma once
// Reads CBOR (RFC 8949) item by item, in the form that authenticators write (CTAP 2, "Message encoding"):
// lengths are given and numbers as short as they can be, without tags. Nothing is copied: texts and bytes are
// views of the input. One owner at a time.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace mist::encoding {

class CborReader {
 public:
  /// Of nested arrays and maps.
  static constexpr int kDeepest = 16;

  /// `input` outlives the reader.
  explicit CborReader(std::string_view input) : input_(input) {}

  // Each reads the next item, and is Invalid if it is of another kind, cut off or written otherwise; then the
  // reader stays where it was.

  Result<std::int64_t> integer();
  Result<std::string_view> bytes();
  /// Valid UTF-8.
  Result<std::string_view> text();
  /// How many items follow that belong to it. Never more than there are bytes.
  Result<std::size_t> array();
  /// How many pairs of items follow that belong to it.
  Result<std::size_t> map();
  /// One item of any kind with everything in it.
  Status skip();

  /// The bytes that were read.
  std::size_t offset() const { return at_; }
  bool at_end() const { return at_ == input_.size(); }
  /// Invalid: something follows.
  Status end() const;

 private:
  enum class Major : std::uint8_t { Unsigned, Negative, Bytes, Text, Array, Map, Tag, Simple };
  struct Head {
    Major major;
    std::uint64_t argument;
  };
  Result<Head> head();
  Result<std::string_view> string_of(Major major, std::string_view what);
  Result<std::size_t> count_of(Major major, std::string_view what, std::size_t bytes_of_each);
  Status skip_one(int depth);
  Error wrong(std::size_t at, std::string_view why) const;

  std::string_view input_;
  std::size_t at_ = 0;
};

}  // namespace mist::encoding
