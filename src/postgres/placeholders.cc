#include "postgres/placeholders.h"

#include <cctype>

namespace mist::postgres {

std::string with_numbers(std::string_view sql) {
  std::string out;
  int next = 1;
  for (std::size_t i = 0; i < sql.size(); ++i) {
    const char c = sql[i];
    if (c == '\'' || c == '"') {
      // A doubled quote ends one text and begins the next: the same.
      const std::size_t end = sql.find(c, i + 1);
      out += sql.substr(i, end == sql.npos ? sql.npos : end - i + 1);
      if (end == sql.npos) break;
      i = end;
    } else if (c != '?') {
      out += c;
    } else {
      out += '$';
      if (i + 1 == sql.size() || std::isdigit(static_cast<unsigned char>(sql[i + 1])) == 0)
        out += std::to_string(next++);
    }
  }
  return out;
}

}  // namespace mist::postgres
