#pragma once
// The manual pages, commands/<first word of the path>.md, embedded into the program by embed_pages.cmake.
// Pure; any thread.

#include <span>
#include <string>
#include <string_view>

#include "cli/parse/command.h"

namespace mist::cli {

struct ManualPage {
  std::string_view name;  ///< "registry"
  std::string_view
      text;  ///< Markdown: headings, paragraphs, lists, indented or fenced code, `code`, **bold**
};

/// All of them, by name. Generated.
std::span<const ManualPage> manual_pages();

/// The page of that name; null if there is none.
const ManualPage* find_page(std::string_view name);

/// For a terminal: the page, broken into lines of at most `columns`.
std::string render_page(const ManualPage& page, int columns, bool color);

/// For man(1): the page and, below it, arguments and flags of all commands that begin with its name. The same
/// for every build of one version: no dates.
std::string roff_page(const ManualPage& page, const CommandTable& table, std::string_view version);

}  // namespace mist::cli
