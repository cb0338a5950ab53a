#pragma once
// Texts that many objects have in common, each kept once: the managed fields of ten thousand objects that one
// function made are the same. A text that nobody holds any more is dropped while others are added. One thread
// at a time.

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <string_view>

namespace mist::kube {

class SharedTexts {
 public:
  using Text = std::shared_ptr<const std::string>;
  /// The one copy of that text.
  Text share(std::string_view text);
  /// How many there are, those included that nobody holds any more. For tests.
  std::size_t size() const { return texts_.size(); }

 private:
  struct Less {
    using is_transparent = void;
    static std::string_view of(std::string_view text) { return text; }
    static std::string_view of(const Text& text) { return *text; }
    bool operator()(const auto& a, const auto& b) const { return of(a) < of(b); }
  };
  std::set<Text, Less> texts_;
  std::size_t most_ = 64;  // so many may there be before those that nobody holds are looked for
};

}  // namespace mist::kube
