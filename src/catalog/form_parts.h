#pragma once
// The parts that forms of accounts and administrators are made of. Pure; any thread.

#include <string_view>

#include "catalog/markup.h"

namespace mist::catalog {

/// The token of the session (session.h).
Markup form_field(std::string_view token);
Markup hidden_field(std::string_view name, std::string_view value);

struct TextField {
  std::string_view name, label;
  std::string_view type = "text";
  std::string_view autocomplete = "off";
  std::string_view value = "";
  std::string_view hint = "";
  bool required = true;
  std::string_view form = "";  ///< tells fields of the same name on one page apart
};
Markup text_field(const TextField& field);

/// A form that sends `fields` with one button.
Markup button_form(std::string_view action, std::string_view token, const Markup& fields,
                   std::string_view words);

}  // namespace mist::catalog
