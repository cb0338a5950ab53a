#include "catalog/passkey_pages.h"

#include <fmt/core.h>

#include "base/text.h"
#include "catalog/asset_path.h"
#include "catalog/form_parts.h"
#include "catalog/web/scripts.h"

namespace mist::catalog {
namespace {

constexpr std::string_view kConfirm = "/account/passkeys/confirm";

std::string day_of(const std::optional<WallTime>& time) {
  return time ? format_time(*time).substr(0, 10) : std::string("never");
}

Markup passkeys_table(const std::vector<Passkey>& passkeys) {
  Markup rows;
  for (const Passkey& each : passkeys)
    rows += markup(
        "<tr><th scope=\"row\">{}{}</th><td>{}</td><td>{}</td><td>{}</td></tr>\n", each.facts.name,
        each.suspected
            ? markup(
                  "<p class=\"failed\">Refused on {}: its counter went back, so somebody may have a copy of "
                  "it. Remove it, and make another one.</p>",
                  day_of(each.suspected))
            : Markup(),
        each.facts.backup_eligible ? "may be on several devices" : "on one device",
        day_of(std::optional(each.created)), day_of(each.used));
  return wide(
      "passkeys",
      markup("<table><thead><tr><th scope=\"col\">Passkey</th><th scope=\"col\">Where</th><th "
             "scope=\"col\">Added</th><th scope=\"col\">Last used</th></tr></thead>\n<tbody>{}</tbody>"
             "</table>",
             rows));
}

Markup removal_form(const FormState& form, const AccountDetails& details,
                    const std::vector<Passkey>& passkeys, PasskeyOffer offer) {
  Markup choices;
  for (const Passkey& each : passkeys)
    choices += markup("<option value=\"{}\">{}</option>", std::to_string(each.id), each.facts.name);
  TextField code = code_field(details);
  code.form = "passkey";
  return markup(
      "<h3>Remove a passkey</h3>\n<form method=\"post\" action=\"/account/passkeys/remove\"{}>\n{}<div "
      "class=\"field\"><label for=\"field-passkey\">Passkey</label><select id=\"field-passkey\" "
      "name=\"id\">{}</select></div>\n{}<button>Remove it</button>\n{}</form>\n",
      offer == PasskeyOffer::Yes ? passkey_form(kConfirm) : Markup(), form_field(form.token), choices,
      text_field(code),
      offer == PasskeyOffer::Yes ? passkey_button("Remove it, with a passkey instead of the code", "")
                                 : Markup());
}

Markup addition_form(const FormState& form, const AccountDetails& details) {
  Markup fields = text_field({.name = "name",
                              .label = "Name of the passkey",
                              .hint = "It tells your passkeys apart: \"laptop\", \"blue key\".",
                              .form = "new-passkey"});
  if (details.has_password)
    fields += text_field({.name = "password",
                          .label = "The password of this account",
                          .type = "password",
                          .autocomplete = "current-password",
                          .form = "new-passkey"});
  if (details.awaits_more()) {
    TextField code = code_field(details);
    code.form = "new-passkey";
    fields += text_field(code);
  }
  const bool by_passkey = details.passkeys > 0;
  if (by_passkey)
    fields += markup("{}<p>Without a code, a passkey of this account is asked for first.</p>\n",
                     hidden_field(kProofField, ""));
  return markup(
      "<h3>Add a passkey</h3>\n<form method=\"post\" action=\"/account/passkeys\"{}{}>\n{}{}{}</form>\n",
      passkey_form("/account/passkeys/ask"), by_passkey ? markup(" data-proof=\"{}\"", kConfirm) : Markup(),
      form_field(form.token), fields, passkey_button("Add a passkey", "Adding a passkey needs JavaScript."));
}

}  // namespace

Markup passkey_form(std::string_view ask) { return markup(" data-passkey=\"{}\"", ask); }

Markup passkey_button(std::string_view words, std::string_view otherwise) {
  return markup(
      "{}<button type=\"button\" class=\"passkey\" hidden>{}</button>\n<p class=\"soft passkey-status\" "
      "role=\"status\"></p>\n{}",
      hidden_field(kCredentialField, ""), words,
      otherwise.empty() ? Markup() : markup("<noscript><p class=\"soft\">{}</p></noscript>\n", otherwise));
}

Markup passkey_script_tag() { return markup("<script src=\"{}\" defer></script>\n", passkey_script_path()); }

Markup passkey_sign_in(const FormState& form) {
  return markup("<form method=\"post\" action=\"/login/passkey\"{}>\n{}{}{}</form>\n{}",
                passkey_form("/login/passkey/ask"), form_field(form.token), hidden_field("next", form.next),
                passkey_button("Sign in with a passkey", "Signing in with a passkey needs JavaScript."),
                passkey_script_tag());
}

Markup passkeys_section(const FormState& form, const AccountDetails& details,
                        const std::vector<Passkey>& passkeys, PasskeyOffer offer) {
  Markup out = markup("<h2 id=\"passkeys\">Passkeys</h2>\n");
  if (passkeys.empty() && offer == PasskeyOffer::No)
    return out += markup("<p>This catalog can't have any: it needs an address with https and a name.</p>\n");
  out += markup(
      "<p>A passkey is a key on your device, behind its fingerprint, PIN or touch. It signs you in without "
      "the "
      "password, and from your first one on the password alone doesn't.{}</p>\n",
      passkeys.empty() ? std::string() : fmt::format(" Recovery codes left: {}.", details.recovery_codes));
  if (!passkeys.empty()) {
    out += passkeys_table(passkeys);
    out += removal_form(form, details, passkeys, offer);
  }
  if (offer == PasskeyOffer::Yes) {
    out += addition_form(form, details);
    out += passkey_script_tag();
  }
  return out;
}

const std::string& passkey_script() {
  static const std::string text(passkey_source());
  return text;
}

const std::string& passkey_script_path() {
  static const std::string path = asset_path("passkey", "js", passkey_script());
  return path;
}

}  // namespace mist::catalog
