#pragma once
// The lines in which two texts differ, by Myers' algorithm: the shortest list of removals and additions.
// Pure; any thread.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mist {

enum class LineChange : std::uint8_t { Same, Removed, Added };

struct LineEdit {
  LineChange change = LineChange::Same;
  std::size_t before = 0;  ///< index of the line in the old text; of additions: of the next one there
  std::size_t after = 0;   ///< index of the line in the new text; of removals: of the next one there
};

inline constexpr std::size_t kMostEdits = 4000;

/// Every line of both texts, in order. Texts that differ in very much (more than `bound` edits) are given as
/// one removal and one addition of everything between what they begin and end with alike. With n lines and d
/// edits it takes d² + dn steps, and 8d² bytes.
std::vector<LineEdit> diff_lines(const std::vector<std::string>& before,
                                 const std::vector<std::string>& after, std::size_t bound = kMostEdits);

/// The changes, with up to `context` lines around each that stay: what is near each other, together.
std::vector<std::span<const LineEdit>> hunks(std::span<const LineEdit> edits, std::size_t context);
/// "@@ -1,3 +1,4 @@", as diff writes it: of so many lines from the indices `before` and `after` on.
std::string hunk_header(std::size_t before, std::size_t old_lines, std::size_t after, std::size_t new_lines);

/// The same as `diff -U` prints it, without the two lines that name the files: "@@ -1,3 +1,4 @@", then lines
/// behind ' ', '-' or '+'. Texts that are alike give nothing; whether the last line ends makes no difference.
std::vector<std::string> unified_diff(std::string_view before, std::string_view after,
                                      std::size_t context = 3, std::size_t bound = kMostEdits);

/// The same of two files, to the last byte: a last line that doesn't end differs from one that does, and is
/// followed by the line "\ No newline at end of file".
std::vector<std::string> unified_file_diff(std::string_view before, std::string_view after,
                                           std::size_t context = 3);

}  // namespace mist
