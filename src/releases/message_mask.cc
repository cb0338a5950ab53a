#include "releases/message_mask.h"

#include <algorithm>

#include "base/base64_inside.h"
#include "base/diagnosis.h"
#include "base/text.h"
#include "crypto/digest.h"
#include "crypto/text_digests.h"
#include "encoding/json.h"
#include "encoding/value.h"

namespace mist::releases {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

std::string lower(std::string_view text) {
  std::string all(text);
  std::ranges::transform(all, all.begin(), [](char c) { return lower(c); });
  return all;
}
std::string upper(std::string_view text) {
  std::string all(text);
  std::ranges::transform(all, all.begin(), [](char c) { return upper(c); });
  return all;
}

// Quotes, separators and what folds texts over lines change from one form to the next; these don't.
bool counts(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

// Calls `each` with every kPiece bytes in a row that count, and where the first and the last of them stand.
template <typename Each>
void for_each_piece(std::string_view text, const Each& each) {
  static_assert(MessageMask::kPiece == sizeof(std::uint64_t));
  std::uint64_t piece = 0;
  std::size_t count = 0;
  std::size_t places[MessageMask::kPiece] = {};
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!counts(text[i])) continue;
    piece = piece << 8U | static_cast<unsigned char>(lower(text[i]));
    places[count++ % MessageMask::kPiece] = i;
    if (count >= MessageMask::kPiece) each(piece, places[count % MessageMask::kPiece], i);
  }
}

std::string percent(std::string_view text, std::string_view space) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((counts(c) && byte < 0x80) || std::string_view("-_.~").contains(c)) {
      out += c;
    } else if (c == ' ') {
      out += space;
    } else {
      out += {'%', kDigits[byte >> 4U], kDigits[byte & 15U]};
    }
  }
  return out;
}

// As Go's html/template and its encoding/json write them.
std::string replaced(std::string_view text, std::initializer_list<std::pair<char, std::string_view>> marks) {
  std::string out;
  for (const char c : text) {
    const auto* const found = std::ranges::find(marks, c, [](const auto& mark) { return mark.first; });
    if (found == marks.end())
      out += c;
    else
      out += found->second;
  }
  return out;
}

std::string base32(std::string_view text) {
  constexpr std::string_view kDigits = "abcdefghijklmnopqrstuvwxyz234567";
  std::string out;
  unsigned bits = 0, held = 0;
  for (const char c : text) {
    bits = (bits << 8U | static_cast<unsigned char>(c)) & 0xFFFU;
    for (held += 8; held >= 5; held -= 5) out += kDigits[bits >> (held - 5) & 31U];
  }
  if (held > 0) out += kDigits[bits << (5 - held) & 31U];
  return out;
}

}  // namespace

void MessageMask::add(std::string_view value) {
  if (value.size() < kShortest) return;
  if (value.size() > kLongestWithForms || with_forms_ + value.size() > kMostWithForms) {
    add_form(value);
    for (const std::size_t before : {0U, 1U, 2U}) add_form(base64_inside(value, before));
    return;
  }
  with_forms_ += value.size();
  add_forms_of(value);
  if (const std::string_view bare = trim(value); bare != value && bare.size() >= kShortest)
    add_forms_of(bare);
}

void MessageMask::add_forms_of(std::string_view value) {
  const std::string small = lower(value), large = upper(value);
  for (const std::string_view each : {value, std::string_view(small), std::string_view(large)}) {
    if (each == value && each.data() != value.data()) continue;
    add_form(each);
    add_form(hex(crypto::as_bytes(each)));
    add_form(base32(each));
    for (const std::size_t before : {0U, 1U, 2U}) add_form(base64_inside(each, before));
    add_form(base64_encode(base64_encode(each)));
    for (const std::string& digest : crypto::text_digests(each)) add_form(digest);
  }
  add_form(percent(value, "%20"));
  add_form(percent(value, "+"));
  add_form(replaced(value, {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&#34;"}, {'\'', "&#39;"}}));
  std::string quoted = encoding::to_json(encoding::Value(value));
  quoted = quoted.substr(1, quoted.size() - 2);
  add_form(quoted);
  add_form(replaced(quoted, {{'&', "\\u0026"}, {'<', "\\u003c"}, {'>', "\\u003e"}}));
}

void MessageMask::add_form(std::string_view form) {
  bool has_piece = false;
  for_each_piece(form, [&](std::uint64_t piece, std::size_t, std::size_t) {
    pieces_.push_back(piece);
    has_piece = true;
  });
  // Its ends may be signs, which belong to no piece.
  constexpr std::size_t kLongestWhole = 128;
  const bool ends_count = !form.empty() && counts(form.front()) && counts(form.back());
  if (form.size() >= kShortest && form.size() <= kLongestWhole && (!has_piece || !ends_count))
    whole_.push_back(lower(form));
}

void MessageMask::prepare() {
  const auto unique = [](auto& all) {
    std::ranges::sort(all);
    all.erase(std::ranges::unique(all).begin(), all.end());
  };
  unique(whole_);
  unique(pieces_);
}

std::string MessageMask::masked(std::string text) const {
  if (whole_.empty() && pieces_.empty()) return text;
  std::vector<bool> hidden(text.size());
  const auto hide = [&](std::size_t begin, std::size_t end) {
    std::fill(hidden.begin() + static_cast<std::ptrdiff_t>(begin),
              hidden.begin() + static_cast<std::ptrdiff_t>(end), true);
  };
  for_each_piece(text, [&](std::uint64_t piece, std::size_t first, std::size_t last) {
    if (std::ranges::binary_search(pieces_, piece)) hide(first, last + 1);
  });
  const std::string small = lower(text);
  for (std::size_t at = 0; at < small.size(); ++at) {
    // Those that begin with what stands there, a byte more at a time.
    auto begin = whole_.begin(), end = whole_.end();
    for (std::size_t depth = 0; begin != end; ++depth) {
      if (begin->size() == depth) {
        hide(at, at + depth);
        ++begin;
      }
      if (at + depth == small.size()) break;
      const auto byte = [&](const std::string& form) { return static_cast<unsigned char>(form[depth]); };
      const auto same =
          std::ranges::equal_range(begin, end, static_cast<unsigned char>(small[at + depth]), {}, byte);
      begin = same.begin();
      end = same.end();
    }
  }
  // A character is hidden as a whole.
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + 1;
    while (end < text.size() && continues_character(text[end])) ++end;
    if (std::find(hidden.begin() + static_cast<std::ptrdiff_t>(at),
                  hidden.begin() + static_cast<std::ptrdiff_t>(end),
                  true) != hidden.begin() + static_cast<std::ptrdiff_t>(end))
      hide(at, end);
    at = end;
  }
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!hidden[at])
      out += text[at];
    else if (at == 0 || !hidden[at - 1])
      out += kMask;
  }
  return out;
}

Error MessageMask::masked(Error failure) const {
  if (whole_.empty() && pieces_.empty()) return failure;
  return with_texts(std::move(failure), [this](std::string text) { return masked(std::move(text)); });
}

}  // namespace mist::releases
