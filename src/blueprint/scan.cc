#include "blueprint/scan.h"

#include <algorithm>
#include <array>
#include <optional>

namespace mist::blueprint {
namespace {

// Deeper brackets than the engine takes.
constexpr int kMostDepth = 300;

enum class TokenType : std::uint8_t { End, Name, Text, Symbol };

struct Token {
  TokenType type = TokenType::End;
  std::string_view text;
  std::uint32_t line = 0, column = 0;
  bool is(std::string_view symbol) const { return type == TokenType::Symbol && text == symbol; }
  bool is_word(std::string_view word) const { return type == TokenType::Name && text == word; }
};

bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_in_name(char c) { return begins_name(c) || (c >= '0' && c <= '9') || c == '\'' || c == '-'; }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::vector<Token> tokens() {
    std::vector<Token> all;
    do all.push_back(next());
    while (all.back().type != TokenType::End);
    return all;
  }

 private:
  char at(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  void step() {
    if (text_[at_] == '\n') {
      ++line_;
      begin_ = at_ + 1;
    }
    ++at_;
  }
  void skip_blank() {
    while (at_ < text_.size()) {
      if (at() == '#')
        while (at_ < text_.size() && at() != '\n') step();
      else if (at() == ' ' || at() == '\t' || at() == '\r' || at() == '\n')
        step();
      else
        return;
    }
  }

  Token next() {
    skip_blank();
    Token token{TokenType::End, {}, line_, static_cast<std::uint32_t>(at_ - begin_ + 1)};
    if (at_ >= text_.size()) return token;
    const std::size_t start = at_;
    if (begins_name(at())) {
      while (is_in_name(at())) step();
      token.type = TokenType::Name;
      if (const std::size_t percents = multi_line(start); percents > 0) {
        multi_line_text(percents);
        token.type = TokenType::Text;
      }
    } else if (at() == '"') {
      token.type = TokenType::Text;
      one_line_text();
    } else if (at() == '\'') {  // an enum tag
      token.type = TokenType::Symbol;
      step();
      if (at() == '"') one_line_text();
      while (is_in_name(at())) step();
    } else {
      token.type = TokenType::Symbol;
      static constexpr std::array<std::string_view, 9> kLong{"=>", "==", "!=", "..", "[|",
                                                             "|]", "|>", "->", "||"};
      const auto found = std::ranges::find(kLong, text_.substr(at_, 2));
      step();
      if (found != kLong.end()) step();
    }
    token.text = text_.substr(start, at_ - start);
    return token;
  }

  // Behind m, or a prefix like foo-s: how many % begin a text of several lines.
  std::size_t multi_line(std::size_t start) const {
    const std::string_view name = text_.substr(start, at_ - start);
    if (name != "m" && !name.ends_with("-s")) return 0;
    std::size_t count = 0;
    while (at(count) == '%') ++count;
    return count > 0 && at(count) == '"' ? count : 0;
  }
  void multi_line_text(std::size_t percents) {
    for (std::size_t i = 0; i <= percents; ++i) step();
    const std::string end = "\"" + std::string(percents, '%'), inside = std::string(percents, '%') + "{";
    while (at_ < text_.size()) {
      if (text_.substr(at_).starts_with(end)) {
        for (std::size_t i = 0; i < end.size(); ++i) step();
        return;
      }
      if (text_.substr(at_).starts_with(inside)) {
        for (std::size_t i = 0; i < inside.size(); ++i) step();
        interpolated();
      } else {
        step();
      }
    }
  }
  void one_line_text() {
    step();
    while (at_ < text_.size() && at() != '"') {
      if (at() == '\\' && at_ + 1 < text_.size()) {
        step();
        step();
      } else if (at() == '%' && at(1) == '{') {
        step();
        step();
        interpolated();
      } else {
        step();
      }
    }
    if (at_ < text_.size()) step();
  }
  // Up to the bracket that closes it.
  void interpolated() {
    if (++depth_ > kMostDepth) at_ = text_.size();
    for (int open = 1; open > 0;) {
      const Token token = next();
      if (token.type == TokenType::End) break;
      if (token.is("{")) ++open;
      if (token.is("}")) --open;
    }
    --depth_;
  }

  std::string_view text_;
  std::size_t at_ = 0, begin_ = 0;
  std::uint32_t line_ = 1;
  int depth_ = 0;
};

// Where an expression stands: the names of the fields that lead there; nullopt: nobody knows.
using Place = std::optional<std::vector<std::string>>;

std::string text_of(const Place& place) {
  std::string text;
  if (place)
    for (const std::string& name : *place) text += (text.empty() ? "" : ".") + name;
  return text;
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : tokens_(Lexer(text).tokens()) {}

  Scan run() {
    while (now().type != TokenType::End) {
      expression(std::vector<std::string>());
      advance();  // a bracket too many
    }
    return std::move(found_);
  }

 private:
  const Token& now() const { return tokens_[at_]; }
  const Token& after(std::size_t count = 1) const {
    return tokens_[std::min(at_ + count, tokens_.size() - 1)];
  }
  void advance() {
    if (now().type != TokenType::End) ++at_;
  }
  bool is_closing() const {
    const Token& token = now();
    return token.type == TokenType::End || token.is("}") || token.is(")") || token.is("]") || token.is("|]");
  }

  // Up to a comma, a closing bracket or `in`, which stay.
  void expression(const Place& place) {
    if (++depth_ > kMostDepth) at_ = tokens_.size() - 1;
    bool is_value = true;  // what comes now is the expression's value, not an argument or the like
    while (!is_closing() && !now().is(",") && !now().is_word("in")) {
      const Place here = is_value ? place : Place();
      if (now().is_word("let")) {
        advance();
        binding();
        is_value = true;
        continue;
      }
      if (now().is_word("fun")) {
        function(here);
        is_value = false;
        continue;
      }
      if (now().is_word("match") && after().is("{")) {
        advance();
        skip_group();
        is_value = false;
        continue;
      }
      if (now().is("{")) {
        record(here);
      } else if (now().is("(") || now().is("[") || now().is("[|")) {
        const Place inner = now().is("(") ? here : Place();
        advance();
        while (!is_closing()) {
          expression(inner);
          if (now().is(",") || now().is_word("in")) advance();
        }
        advance();
      } else {
        is_value = now().is("&");
        advance();
        continue;
      }
      is_value = false;
    }
    --depth_;
  }

  // Behind `let`, with its `in`.
  void binding() {
    if (now().is_word("rec")) advance();
    while (!is_closing() && !now().is_word("in")) {
      if (now().is("{"))
        skip_group();  // a pattern
      else if (now().is("=")) {
        advance();
        expression(std::nullopt);
      } else {
        advance();
      }
    }
    if (now().is_word("in")) advance();
  }

  void function(const Place& place) {
    FunctionHead head{text_of(place), now().line, now().column, {}, false, false};
    advance();
    const bool named = now().type == TokenType::Name && after().is("@");
    if (named) {
      advance();
      advance();
    }
    const bool is_record = now().is("{");
    if (is_record) pattern(head);
    head.whole |= named;
    while (!is_closing() && !now().is("=>")) {
      if (now().is("{") || now().is("(") || now().is("["))
        skip_group();
      else
        advance();
    }
    if (now().is("=>")) advance();
    if (is_record && !head.field.empty()) found_.functions.push_back(std::move(head));
    // Its body goes on as an expression of no place that is known.
  }

  void pattern(FunctionHead& head) {
    advance();
    while (!is_closing()) {
      if (now().is("..")) {
        advance();
        head.open = true;
        head.whole = now().type == TokenType::Name;
      } else if (now().type == TokenType::Name || now().type == TokenType::Text) {
        head.takes.push_back({name_of(now()), false});
      }
      while (!is_closing() && !now().is(",")) {
        if (now().is("?") && !head.takes.empty()) head.takes.back().optional = true;
        if (now().is("{") || now().is("(") || now().is("[") || now().is("[|"))
          skip_group();
        else
          advance();
      }
      if (now().is(",")) advance();
    }
    advance();
  }

  void record(const Place& place) {
    advance();
    while (!is_closing()) {
      field(place);
      if (now().is(",") || now().is_word("in")) advance();
    }
    advance();
  }

  void field(const Place& place) {
    Place inner = place;
    const Token name = now();
    std::size_t names = 0;
    while (now().type == TokenType::Name || now().type == TokenType::Text) {
      if (inner) inner->push_back(name_of(now()));
      ++names;
      advance();
      if (!now().is(".")) break;
      advance();
    }
    // Annotations, up to the value.
    while (!is_closing() && !now().is("=") && !now().is(",")) {
      if (now().is("{") || now().is("(") || now().is("[") || now().is("[|"))
        skip_group();
      else
        advance();
    }
    if (!now().is("=")) return;
    advance();
    const Token value = now();
    const bool alone = after().is(",") || after().is("}") || after().is(".");
    if (names == 1 && name.type == TokenType::Name && value.is_word(name.text) && alone)
      found_.self_references.push_back({std::string(name.text), name.line, name.column});
    expression(inner);
  }

  static std::string name_of(const Token& token) {
    const bool quoted = token.type == TokenType::Text && token.text.size() >= 2;
    return std::string(quoted ? token.text.substr(1, token.text.size() - 2) : token.text);
  }

  // Brackets in which nothing is looked for.
  void skip_group() {
    int open = 0;
    do {
      if (now().is("{") || now().is("(") || now().is("[") || now().is("[|"))
        ++open;
      else if (is_closing())
        --open;
      advance();
    } while (open > 0 && now().type != TokenType::End);
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
  Scan found_;
};

}  // namespace

Scan scan(std::string_view text) { return Scanner(text).run(); }

}  // namespace mist::blueprint
