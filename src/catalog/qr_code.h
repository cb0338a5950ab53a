#pragma once
// QR codes (ISO/IEC 18004) of short texts, so that a phone reads the secret of an authenticator from the
// page: bytes as they are, error correction level M, up to version 20. Made here, since a service would learn
// the secret. Pure; any thread.

#include <optional>
#include <string_view>
#include <vector>

#include "catalog/markup.h"

namespace mist::catalog {

/// Its modules without the quiet zone, row after row.
class QrCode {
 public:
  explicit QrCode(int size) : size_(size), dark_(static_cast<std::size_t>(size * size)) {}
  int size() const { return size_; }
  bool dark(int x, int y) const { return dark_[at(x, y)]; }
  void set(int x, int y, bool dark) { dark_[at(x, y)] = dark; }

 private:
  std::size_t at(int x, int y) const {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(size_) + static_cast<std::size_t>(x);
  }
  int size_;
  std::vector<bool> dark_;
};

/// Nullopt: the text has more than 666 bytes.
std::optional<QrCode> qr_code(std::string_view text);

/// As an inline picture, dark on light in either colour scheme, with its quiet zone. `label` names it.
Markup picture(const QrCode& code, std::string_view label);

}  // namespace mist::catalog
