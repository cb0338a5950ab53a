#pragma once
// From what a user types to the language of FTS5 (https://sqlite.org/fts5.html, "Full-text Query Syntax").
// Every word is quoted, so that AND, NEAR, '*', ':' and quotes are what they are: text. Pure; any thread.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace mist::search {

struct Query {
  std::vector<std::string> words = {};        ///< all of them, in name, description, keywords or maintainers
  std::vector<std::string> kinds = {};        ///< all of them: "Deployment"
  std::vector<std::string> keywords = {};     ///< all of them
  std::vector<std::string> maintainers = {};  ///< all of them
  std::vector<std::string> registries = {};   ///< one of them; empty: any
  std::size_t limit = 50;
};

/// The expression; empty: the query holds nothing that could be looked for. `columns`: where words may be.
std::string match_expression(const Query& query,
                             std::string_view columns = "{name title keywords description maintainers}");
/// The words as one name, for the ranking: "ingress nginx" is "ingress-nginx".
std::string name_in(const Query& query);

}  // namespace mist::search
