#pragma once
// The SQL that differs between databases: the tables, and the search for words. All other SQL of the catalog
// is written once, in sql_*. Any thread.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace mist::catalog {

/// Where words must occur.
enum class WordsIn : std::uint8_t { Name, NameOrDescription, Anywhere };

struct Dialect {
  /// For sql::Database::migrate.
  std::span<const std::string_view> schema;
  /// The column of the table `words` that is listed.project.
  std::string_view words_key;
  /// INSERT with ?1 project, ?2 name, ?3 description, ?4 details.
  std::string_view add_words;
  /// The value of ?1 below, so that all words occur, each as the beginning of one. `words` hold letters and
  /// digits of ASCII, and any bytes beyond it.
  std::string (*match)(std::span<const std::string> words, WordsIn where);
  /// The condition on `words w` that ?1, made for the same `where`, is found there.
  std::string (*is_found)(WordsIn where);
  /// SELECT of `project` and `score`, the lower the better, of the first ?6 of those in which ?1, made for
  /// the same `where`, is found. A name counts most, then a description.
  std::string (*ranked)(WordsIn where);
};

const Dialect& sqlite_dialect();
const Dialect& postgres_dialect();

}  // namespace mist::catalog
