#pragma once
// Texts as Graphviz and Mermaid take them, control characters escaped. Pure; any thread.

#include <string>
#include <string_view>

namespace mist::view {

std::string dot_text(std::string_view text);      ///< between double quotes
std::string mermaid_text(std::string_view text);  ///< between double quotes

}  // namespace mist::view
