#pragma once
// Whether a text contains one of many secrets, as it is or in a common encoding of it: base64 in all three
// alignments, percent signs, hexadecimal digits, JSON's quotes, backwards. A digest of a secret is no trace
// of it. Immutable once built; any thread.

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

 private:
  TextMask mask_;
};

}  // namespace mist::action
