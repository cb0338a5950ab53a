#include "search/query.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace mist::search {
namespace {

constexpr std::size_t kMostTerms = 20;
constexpr std::size_t kMostTerm = 200;

// Whether the tokenizer unicode61 may find a token in it. Only the tokenizer knows which characters beyond
// ASCII are letters, and which are dashes and emoji.
bool may_have_token(std::string_view text) {
  return std::ranges::any_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           static_cast<unsigned char>(c) >= 0x80;
  });
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text.substr(0, kMostTerm)) {
    if (c == '\0') continue;
    out += c;
    if (c == '"') out += c;
  }
  return out + '"';
}

class Expression {
 public:
  void add(std::string_view column, std::string_view text, bool prefix) {
    if (!may_have_token(text) || terms_.size() == kMostTerms) return;
    terms_.push_back(fmt::format("{} : {}{}", column, quoted(text), prefix ? " *" : ""));
  }
  // All of them must occur. Without AND, FTS5 leaves out those in which it finds no token.
  std::string text() const { return join(terms_, " "); }

 private:
  std::vector<std::string> terms_;
};

}  // namespace

std::string match_expression(const Query& query, std::string_view columns) {
  Expression expression;
  for (const std::string& each : query.words)
    for (const std::string_view word : split(each, ' ')) expression.add(columns, word, true);
  for (const std::string& each : query.kinds) expression.add("kinds", each, false);
  for (const std::string& each : query.keywords) expression.add("keywords", each, false);
  for (const std::string& each : query.maintainers) expression.add("maintainers", each, true);
  return expression.text();
}

std::string name_in(const Query& query) {
  std::string name = lower_case(trim(join(query.words, "-")));
  std::ranges::replace(name, ' ', '-');
  return name;
}

}  // namespace mist::search
