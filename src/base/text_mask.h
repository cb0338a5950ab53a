#pragma once
// Finds many texts in one at once and puts a mask in their places: secrets in what is printed. The algorithm
// is Aho and Corasick's (1975): work grows with the length of the text plus that of all patterns, not with
// their product, whatever they are. Immutable once built; any thread.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mist {

class TextMask {
 public:
  /// Bytes of all patterns together; each needs 16 bytes of memory. With more nothing is searched, and every
  /// text counts as one that contains them.
  static constexpr std::size_t kMostBytes = std::size_t{8} << 20;

  TextMask() = default;
  /// Empty patterns, and those that stand there twice, don't count.
  explicit TextMask(std::vector<std::string> patterns);

  bool empty() const { return nodes_.empty() && !overfull_; }
  /// Whether a pattern is part of `text`.
  bool finds(std::string_view text) const;
  /// `text` with `by` in the place of each pattern; of those that overlap, once for all of them. If there
  /// were too many patterns, a note instead of the text.
  std::string masked(std::string text, std::string_view by) const;

  /// How many moves through the automaton `text` takes: at most two for each byte, and one more. For tests.
  std::size_t steps(std::string_view text) const;

 private:
  // A trie in the order of its levels, so that the children of a node stand side by side.
  struct Node {
    std::uint32_t first_child = 0;
    std::uint32_t fail = 0;    // the longest proper suffix that is in the trie too
    std::uint32_t length = 0;  // of the longest pattern that ends here; 0: none
    std::uint16_t children = 0;
    unsigned char byte = 0;  // by which its parent leads here
  };

  void grow(const std::vector<std::string>& patterns);
  void link();
  std::uint32_t child(std::uint32_t node, unsigned char byte) const;
  // Calls `each` with the end and the length of the longest match at each place until it returns false.
  template <typename Each>
  std::size_t walk(std::string_view text, const Each& each) const;

  std::vector<Node> nodes_;
  bool overfull_ = false;
};

}  // namespace mist
