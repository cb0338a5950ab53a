#include "catalog/form_parts.h"

#include "catalog/session.h"

namespace mist::catalog {

Markup form_field(std::string_view token) {
  return markup("<input type=\"hidden\" name=\"{}\" value=\"{}\">", kFormField, token);
}

Markup hidden_field(std::string_view name, std::string_view value) {
  return markup("<input type=\"hidden\" name=\"{}\" value=\"{}\">", name, FormValue{value});
}

Markup text_field(const TextField& field) {
  const std::string id = fmt::format("field-{}{}{}", field.form, field.form.empty() ? "" : "-", field.name);
  return markup(
      "<div class=\"field\"><label for=\"{}\">{}</label><input id=\"{}\" name=\"{}\" type=\"{}\" "
      "value=\"{}\" "
      "autocomplete=\"{}\"{}{}>{}</div>\n",
      id, field.label, id, field.name, field.type, FormValue{field.value}, field.autocomplete,
      field.required ? markup(" required") : Markup(),
      field.hint.empty() ? Markup() : markup(" aria-describedby=\"{}-hint\"", id),
      field.hint.empty() ? Markup() : markup("<p id=\"{}-hint\">{}</p>", id, field.hint));
}

Markup button_form(std::string_view action, std::string_view token, const Markup& fields,
                   std::string_view words) {
  return markup("<form class=\"inline\" method=\"post\" action=\"{}\">{}{}<button>{}</button></form>\n",
                action, form_field(token), fields, words);
}

}  // namespace mist::catalog
