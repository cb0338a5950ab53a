#pragma once
// Whether a text contains one of many secrets, as it is or in a common encoding of it: base64 in all three
// alignments, percent signs, hexadecimal digits, JSON's quotes, backwards. A digest of a secret is no trace
// of it. Immutable once built; any thread.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_mask.h"

namespace mist::action {

class SecretTraces {
 public:
  /// Secrets of fewer than four bytes stand in texts by chance, and aren't looked for.
  explicit SecretTraces(const std::vector<std::string>& secrets);

  bool finds(std::string_view text) const { return mask_.finds(text); }
  /// Whether `text` is a hexadecimal digest, from MD5 to SHA-2, with or without its algorithm ("sha256:"), in
  /// which not even a part of a secret stands: no five bytes of one written as digits, and no ten characters
  /// of one that are digits themselves; also backwards, or in letters of the other case.
  bool is_clean_digest(std::string_view text) const;

 private:
  TextMask mask_;
  std::vector<std::uint64_t> parts_;  // runs of ten digits; sorted
};

}  // namespace mist::action
