#pragma once
// The common parts of all pages: the frame around their content, the style sheet, and the smallest pieces.
// Pure; any thread.

#include <cstdint>
#include <string>
#include <string_view>

#include "catalog/markup.h"
#include "catalog/model.h"
#include "catalog/store.h"

namespace mist::catalog {

/// The frame that all pages share.
struct PageFrame {
  std::string url;           ///< of this catalog, as others reach it: "https://catalog.example.com"
  std::string account = {};  ///< that is signed in; empty: nobody
};

struct Search {
  std::string query;
  Narrowing narrowing;
};
std::string_view state_text(const Narrowing& narrowing);

/// Live pages have the script.
enum class Live : std::uint8_t { No, Yes };
Markup search_form(const Search& search, Live live);
/// A whole page. `form`: the search of all pages, as this one has it.
Markup frame_of(const PageFrame& frame, std::string_view title, const Markup& form, const Markup& content,
                Live live = Live::No);
Markup frame_of(const PageFrame& frame, std::string_view title, const Markup& content, Live live = Live::No);
/// A page that only says something, such as that there is nothing at `path`, which somebody asked for. It
/// links onward: to the start page, to the search with the words of `path`, and to the own account.
std::string message_page(const PageFrame& frame, const std::string& title, const std::string& words,
                         std::string_view path = {});

Markup state_mark(VersionState state);
std::string package_path(std::string_view package);
std::string version_path(std::string_view package, std::string_view version);
std::string version_path(const Version& version);
Markup code_block(std::string_view text);
/// Of a file that is copied: with every character as it is, where an escape would be another value. LiveOwner
/// that would deceive its reader are escaped before, as its format does.
Markup file_block(std::string_view text);
/// A table that scrolls by itself where the window is too narrow, so it can get the focus. Its name is the
/// heading with that id.
Markup wide(std::string_view heading, const Markup& table);

/// The one style sheet; its path names its content, so that it may be kept for ever.
const std::string& style_sheet();
const std::string& style_path();
const std::string& icon();

}  // namespace mist::catalog
