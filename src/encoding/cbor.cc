#include "encoding/cbor.h"

#include <array>
#include <limits>

#include "base/text.h"

namespace mist::encoding {
namespace {

constexpr unsigned kOneByteFollows = 24;
constexpr unsigned kEightBytesFollow = 27;
constexpr unsigned kFirstSimple = 20;  // false, true, null, undefined
constexpr unsigned kLastSimple = 23;
constexpr unsigned kHalfFloat = 25;

}  // namespace

Error CborReader::wrong(std::size_t at, std::string_view why) const {
  return error(ErrorKind::Invalid, "the CBOR can't be read")
      .with_because(fmt::format("byte {}: {}", at, why));
}

Result<CborReader::Head> CborReader::head() {
  if (at_ >= input_.size()) return wrong(at_, "an item is missing");
  const auto first = static_cast<unsigned char>(input_[at_]);
  Head head{.major = static_cast<Major>(first >> 5), .argument = first & 0x1fU};
  const auto information = static_cast<unsigned>(head.argument);
  if (information < kOneByteFollows) {
    ++at_;
    return head;
  }
  if (information > kEightBytesFollow) return wrong(at_, "a length isn't given");
  const std::size_t size = std::size_t{1} << (information - kOneByteFollows);
  if (input_.size() - at_ - 1 < size) return wrong(at_, "an item is cut off");
  head.argument = 0;
  for (std::size_t i = 1; i <= size; ++i)
    head.argument = head.argument << 8 | static_cast<unsigned char>(input_[at_ + i]);
  // A float has all its bits; of numbers and lengths none may be wider than it needs.
  static constexpr std::array<std::uint64_t, 4> kLeast{kOneByteFollows, 0x100, 0x10000, 0x100000000};
  const bool is_float = head.major == Major::Simple && information >= kHalfFloat;
  if (!is_float && head.argument < kLeast[information - kOneByteFollows])
    return wrong(at_, "a number isn't as short as it can be");
  if (head.major == Major::Simple && information == kOneByteFollows)
    return wrong(at_, "a simple value that has no meaning");
  at_ += 1 + size;
  return head;
}

Result<std::int64_t> CborReader::integer() {
  const std::size_t began = at_;
  MIST_TRY(const Head found, head());
  const bool is_negative = found.major == Major::Negative;
  if ((!is_negative && found.major != Major::Unsigned) ||
      found.argument > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    at_ = began;
    return wrong(began, "it isn't an integer of 64 bits");
  }
  const auto value = static_cast<std::int64_t>(found.argument);
  return is_negative ? -1 - value : value;
}

Result<std::string_view> CborReader::string_of(Major major, std::string_view what) {
  const std::size_t began = at_;
  MIST_TRY(const Head found, head());
  if (found.major != major || found.argument > input_.size() - at_) {
    at_ = began;
    return wrong(began, found.major != major ? what : "a text or bytes are cut off");
  }
  const std::string_view content = input_.substr(at_, static_cast<std::size_t>(found.argument));
  at_ += content.size();
  return content;
}

Result<std::string_view> CborReader::bytes() { return string_of(Major::Bytes, "it isn't a string of bytes"); }

Result<std::string_view> CborReader::text() {
  const std::size_t began = at_;
  MIST_TRY(const std::string_view content, string_of(Major::Text, "it isn't a text"));
  if (is_valid_utf8(content)) return content;
  at_ = began;
  return wrong(began, "a text isn't UTF-8");
}

Result<std::size_t> CborReader::count_of(Major major, std::string_view what, std::size_t bytes_of_each) {
  const std::size_t began = at_;
  MIST_TRY(const Head found, head());
  if (found.major != major || found.argument > (input_.size() - at_) / bytes_of_each) {
    at_ = began;
    return wrong(began, found.major != major ? what : "a list is cut off");
  }
  return static_cast<std::size_t>(found.argument);
}

Result<std::size_t> CborReader::array() { return count_of(Major::Array, "it isn't an array", 1); }
Result<std::size_t> CborReader::map() { return count_of(Major::Map, "it isn't a map", 2); }

Status CborReader::skip() {
  const std::size_t began = at_;
  Status skipped = skip_one(0);
  if (!skipped.ok()) at_ = began;
  return skipped;
}

Status CborReader::skip_one(int depth) {
  const std::size_t began = at_;
  MIST_TRY(const Head found, head());
  switch (found.major) {
    case Major::Unsigned:
    case Major::Negative:
      return {};
    case Major::Bytes:
    case Major::Text: {
      at_ = began;
      if (found.major == Major::Bytes)
        MIST_TRY_VOID(bytes());
      else
        MIST_TRY_VOID(text());
      return {};
    }
    case Major::Array:
    case Major::Map: {
      if (depth == kDeepest) return wrong(began, "it is nested too deeply");
      const std::size_t of_each = found.major == Major::Map ? 2 : 1;
      if (found.argument > (input_.size() - at_) / of_each) return wrong(began, "a list is cut off");
      for (std::uint64_t i = 0; i < found.argument * of_each; ++i) MIST_TRY_VOID(skip_one(depth + 1));
      return {};
    }
    case Major::Tag:
      return wrong(began, "tags aren't read");
    case Major::Simple:
      break;
  }
  const unsigned information = static_cast<unsigned char>(input_[began]) & 0x1fU;
  const bool is_known =
      (information >= kFirstSimple && information <= kLastSimple) || information >= kHalfFloat;
  if (!is_known) return wrong(began, "a simple value that has no meaning");
  return {};
}

Status CborReader::end() const {
  if (at_end()) return {};
  return wrong(at_, "something follows the last item");
}

}  // namespace mist::encoding
