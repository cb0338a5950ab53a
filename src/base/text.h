#pragma once
// Small text functions that several folders need. Pure; any thread.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mist {

std::string_view trim(std::string_view text);
/// Splits at every `separator`; "a,,b" gives three parts, "" gives one empty part.
std::vector<std::string_view> split(std::string_view text, char separator);
std::string join(std::span<const std::string> parts, std::string_view separator);

/// ASCII letters; everything else stays.
std::string lower_case(std::string_view text);

/// Makes text of a guest or a server harmless on a terminal: C0 and C1 controls, DEL, invalid UTF-8 and
/// Unicode bidirectional controls become visible escapes (\x1b, \u202e); tab stays, newline stays if
/// `keep_newlines`.
std::string escape_controls(std::string_view text, bool keep_newlines = false);

/// The same for a JSON text, which stays JSON of the same value: each of them as \uXXXX, beyond the basic
/// plane as two of these. Newlines, which can only be between tokens, stay.
std::string escape_controls_in_json(std::string_view json);

/// The text as a POSIX shell reads it back as one word.
std::string shell_word(std::string_view text);

/// True for well-formed UTF-8 (RFC 3629: no surrogates, no overlong forms).
bool is_valid_utf8(std::string_view text);

/// All of it if it has at most `most` bytes; else its beginning, cut between characters, and "…", together
/// not more.
std::string clipped(std::string_view text, std::size_t most);

/// The candidate nearest to `word` by edit distance, if it is near enough to be worth suggesting; else empty.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

/// "1 object", "2 objects".
std::string plural(std::size_t count, std::string_view noun);

/// RFC 1123 label: lower case letters, digits and '-', begins and ends alphanumeric, 1–63 characters.
bool is_dns1123_label(std::string_view text);
/// RFC 1123 subdomain: labels joined by dots, at most 253 characters.
bool is_dns1123_subdomain(std::string_view text);

std::string hex(std::span<const std::byte> bytes);
/// Nothing but 0–9 and a–f, as hex() writes them.
bool is_lower_hex(std::string_view text);
std::string base64_encode(std::string_view bytes);
/// RFC 4648 with padding; false when `text` isn't that.
bool base64_decode(std::string_view text, std::string& out);

}  // namespace mist
