#include "catalog/admin_pages.h"

#include <array>

#include "base/text.h"
#include "catalog/form_parts.h"
#include "http/url.h"

namespace mist::catalog {
namespace {

constexpr std::array kRoles{Role::Author, Role::Moderator, Role::Administrator};

Markup role_form(const FormState& form, const AccountDetails& details) {
  Markup options;
  for (const Role role : kRoles)
    options += markup("<option{}>{}</option>", role == details.account.role ? markup(" selected") : Markup(),
                      to_string(role));
  Markup fields = hidden_field("name", details.account.name);
  fields +=
      markup("<select name=\"role\" aria-label=\"Role of {}\">{}</select> ", details.account.name, options);
  return button_form("/admin/role", form.token, fields, "Set");
}

Markup account_row(const PageFrame& frame, const FormState& form, const AccountDetails& details) {
  const std::string& name = details.account.name;
  const bool is_own = name == frame.account;
  return markup(
      "<tr><th scope=\"row\"><a "
      "href=\"/admin/audit?who={}\">{}</a>{}</th><td data-label=\"Role\">{}</td><td data-label=\"Signs in "
      "with\">{}{}{}</td><td>{}</td>"
      "</tr>\n",
      http::escape_query(name), name,
      details.disabled ? markup(" <span class=\"state failed\">disabled</span>") : Markup(),
      is_own ? markup("{}, you", to_string(details.account.role)) : role_form(form, details),
      details.has_password ? "password" : "no password", details.has_second_factor ? ", authenticator" : "",
      details.passkeys > 0 ? ", passkeys" : "",
      is_own ? Markup()
             : button_form(details.disabled ? "/admin/enable" : "/admin/disable", form.token,
                           hidden_field("name", name), details.disabled ? "Enable" : "Disable"));
}

std::string query_of(const AuditFilter& filter) {
  const std::vector<std::pair<std::string, std::string>> parts{
      {"who", filter.who}, {"what", filter.what}, {"subject", filter.subject}};
  return http::query_of(parts);
}

}  // namespace

std::string admin_page(const PageFrame& frame, const FormState& form, const Slice<AccountDetails>& accounts) {
  Markup rows;
  for (const AccountDetails& each : accounts.items) rows += account_row(frame, form, each);
  Markup content = markup(
      "<h1 id=\"accounts\">Accounts</h1>\n<p>Another role ends the sessions of an account; disabling it ends "
      "its sessions and tokens. <a href=\"/admin/audit\">What was changed</a></p>\n{}",
      wide("accounts",
           markup("<table class=\"stacked cards\"><thead><tr><th scope=\"col\">Name</th><th "
                  "scope=\"col\">Role</th><th "
                  "scope=\"col\">Signs in with</th><td></td></tr></thead>\n<tbody>{}</tbody></table>",
                  rows)));
  if (!accounts.next.empty())
    content += markup("<p><a href=\"/admin?after={}\" rel=\"next\">More</a></p>\n",
                      http::escape_query(accounts.next));
  return frame_of(frame, "Accounts", content).text();
}

std::string audit_page(const PageFrame& frame, const AuditFilter& filter, const Slice<AuditEntry>& entries) {
  Markup content = markup(
      "<h1 id=\"changes\">What was changed</h1>\n<form "
      "action=\"/admin/audit\">\n{}{}{}<button>Show</button>\n</form>\n",
      text_field({.name = "who", .label = "By", .value = filter.who, .required = false}),
      text_field({.name = "what", .label = "What", .value = filter.what, .required = false}),
      text_field({.name = "subject", .label = "Of", .value = filter.subject, .required = false}));
  Markup rows;
  for (const AuditEntry& each : entries.items)
    rows += markup(
        "<tr><td class=\"unbroken\" data-label=\"Time\">{}</td><td data-label=\"By\">{}</td><td "
        "data-label=\"What\">{}</td><td data-label=\"Of\">{}</td><td data-label=\"From\">{}</td></tr>\n",
        format_time(each.when), each.who, each.what, each.subject, each.peer);
  content +=
      rows.empty()
          ? markup("<p>Nothing.</p>\n")
          : wide("changes",
                 markup("<table class=\"stacked cards\"><thead><tr><th scope=\"col\">Time</th><th "
                        "scope=\"col\">By</th><th "
                        "scope=\"col\">What</th><th scope=\"col\">Of</th><th scope=\"col\">From</th></tr>"
                        "</thead>\n<tbody>{}</tbody></table>",
                        rows));
  if (!entries.next.empty())
    content += markup("<p><a href=\"/admin/audit?{}&amp;after={}\" rel=\"next\">More</a></p>\n",
                      query_of(filter), http::escape_query(entries.next));
  return frame_of(frame, "What was changed", content).text();
}

}  // namespace mist::catalog
