#pragma once
// Hides in messages what came from Secrets, and what templates commonly make of it: other letters, quotes and
// encodings, digests, and pieces. A message may quote what was rendered, and that is more than the values
// that went in. Built by one thread; then immutable, any thread.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace mist::releases {

class MessageMask {
 public:
  static constexpr std::string_view kMask = "***";
  /// Shorter values stand in words by chance.
  static constexpr std::size_t kShortest = 4;
  /// So many letters and digits of a value (or of one of its forms) in a row are hidden by themselves,
  /// whatever stands between them.
  static constexpr std::size_t kPiece = 8;
  /// Of longer values only pieces as they are, and their base64, are looked for.
  static constexpr std::size_t kLongestWithForms = 4096;
  /// Of all values with forms together. With more, pieces are looked for, as with longer ones.
  static constexpr std::size_t kMostWithForms = std::size_t{128} * 1024;

  /// One value. Call prepare() after the last.
  void add(std::string_view value);
  void prepare();

  std::string masked(std::string text) const;
  Error masked(Error failure) const;

 private:
  void add_form(std::string_view form);
  void add_forms_of(std::string_view value);

  std::vector<std::string> whole_;     // short ones, lower case; sorted once prepared
  std::vector<std::uint64_t> pieces_;  // kPiece letters and digits each, lower case; sorted once prepared
  std::size_t with_forms_ = 0;
};

}  // namespace mist::releases
