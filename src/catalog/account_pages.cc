#include "catalog/account_pages.h"

#include "base/text.h"
#include "catalog/domains.h"
#include "catalog/form_parts.h"
#include "catalog/passkey_pages.h"
#include "catalog/qr_code.h"
#include "catalog/token.h"
#include "catalog/totp.h"
#include "http/url.h"

namespace mist::catalog {
namespace {

constexpr std::size_t kShownAgent = 120;

std::string host_of(const std::string& url) {
  const auto parsed = http::Url::parse(url);
  return parsed.ok() ? parsed->host : url;
}

Markup problem_note(std::string_view problem) {
  if (problem.empty()) return {};
  return markup("<p class=\"note\" role=\"alert\">{}.</p>\n", problem);
}

std::string next_query(std::string_view path, std::string_view next) {
  return next.empty() ? std::string(path) : fmt::format("{}?next={}", path, http::escape_query(next));
}

constexpr TextField kCodeField{.name = "code",
                               .label = "Code",
                               .autocomplete = "one-time-code",
                               .hint = "The six digits of your authenticator, or a recovery code."};
constexpr TextField kRecoveryField{.name = "code",
                                   .label = "Recovery code",
                                   .hint = "One of the ten that were shown with your first passkey."};

// A form for what an open browser isn't enough for: it asks for the password, and the code or a passkey, of
// an account that has them.
struct ProvedForm {
  std::string_view name;  // tells its fields from those of other forms
  std::string_view action, words;
  Markup fields = {};  // in front of these
  bool has_password_field = false;
};

Markup proved_form(const ProvedForm& wanted, const FormState& form, const AccountView& view) {
  Markup fields = wanted.fields;
  if (view.details.has_password && !wanted.has_password_field)
    fields += text_field({.name = "password",
                          .label = "The password of this account",
                          .type = "password",
                          .autocomplete = "current-password",
                          .form = wanted.name});
  if (view.details.awaits_more()) {
    TextField code = code_field(view.details);
    code.form = wanted.name;
    fields += text_field(code);
  }
  const bool by_passkey = view.details.passkeys > 0 && view.offer == PasskeyOffer::Yes;
  return markup("<form method=\"post\" action=\"{}\"{}>\n{}{}<button>{}</button>\n{}</form>\n", wanted.action,
                by_passkey ? passkey_form("/account/passkeys/confirm") : Markup(), form_field(form.token),
                fields, wanted.words,
                by_passkey
                    ? passkey_button(fmt::format("{}, with a passkey instead of the code", wanted.words), "")
                    : Markup());
}

Markup password_section(const FormState& form, const AccountView& view) {
  const bool has_one = view.details.has_password;
  Markup fields = has_one ? text_field({.name = "old",
                                        .label = "The password now",
                                        .type = "password",
                                        .autocomplete = "current-password"})
                          : markup("<p>This account has none.</p>\n");
  fields += text_field({.name = "password",
                        .label = "The new password",
                        .type = "password",
                        .autocomplete = "new-password",
                        .hint = "12 characters or more. All other sessions end."});
  return markup("<h2 id=\"password\">Password</h2>\n{}",
                proved_form({.name = "change-password",
                             .action = "/account/password",
                             .words = has_one ? "Change it" : "Set it",
                             .fields = std::move(fields),
                             .has_password_field = true},
                            form, view));
}

Markup identities_section(const FormState& form, const AccountView& view) {
  if (view.issuer.empty() && view.identities.empty()) return {};
  Markup out = markup("<h2 id=\"identities\">Identities</h2>\n");
  for (const AccountStore::LinkedIdentity& each : view.identities) {
    Markup fields = hidden_field("issuer", each.issuer);
    fields += hidden_field("subject", each.subject);
    out += markup("<p><code>{}</code> at {} {}</p>\n", each.subject, each.issuer,
                  button_form("/account/identities/remove", form.token, fields, "Remove"));
  }
  if (!view.issuer.empty()) {
    const std::string words = "Link one of " + host_of(view.issuer);
    out += proved_form({.name = "identity", .action = "/account/identities", .words = words}, form, view);
  }
  return out;
}

Markup second_factor_section(const FormState& form, const AccountView& view) {
  const AccountDetails& details = view.details;
  Markup out = markup("<h2 id=\"second-factor\">Authenticator</h2>\n");
  if (!details.has_second_factor) {
    out += details.passkeys == 0 ? markup("<p>The password alone signs you in.</p>\n")
                                 : markup(
                                       "<p>After the password a passkey is asked for. With an authenticator, "
                                       "its codes do, too.</p>\n");
    out += proved_form(
        {.name = "authenticator", .action = "/account/code", .words = "Set up an authenticator"}, form, view);
    return out;
  }
  out += markup("<p>A code is asked for after the password. Recovery codes left: {}.</p>\n",
                details.recovery_codes);
  out += button_form("/account/code/remove", form.token, text_field(kCodeField), "Remove it");
  return out;
}

Markup recovery_note(const AccountDetails& details) {
  if (!details.awaits_more() || details.recovery_codes > 1) return {};
  return markup(
      "<p class=\"note\">{}. Remove the authenticator, if you have one, and set it up: that gives ten new "
      "codes.</p>\n",
      details.recovery_codes == 1 ? "Your last recovery code is left" : "No recovery code is left");
}

// Says that the record of a domain was missed, and what follows.
Markup domain_notice(const OwnDomain& domain) {
  const std::string seen = format_time(domain.checked).substr(0, 10);
  if (domain.has_lapsed())
    return markup(
        ". <span class=\"failed\">It has lapsed: its record was there last on {}. Your packages no longer "
        "show it. "
        "Restore the record, and prove the domain again below.</span>",
        seen);
  if (domain.failures == 0) return {};
  return markup(
      ". <span class=\"failed\">Its record isn't there; it was last on {}. If it is missing for {} more, the "
      "domain lapses.</span>",
      seen, plural(static_cast<std::size_t>(OwnDomain::kMostFailures - domain.failures), "day"));
}

Markup domains_section(const PageFrame& frame, const FormState& form, const AccountView& view) {
  Markup out = markup("<h2 id=\"domains\">Domains</h2>\n");
  for (const OwnDomain& each : view.domains)
    out += markup("<p>{}, proved {}{} {}</p>\n", each.domain, format_time(each.proved).substr(0, 10),
                  domain_notice(each),
                  button_form("/account/domains/remove", form.token, hidden_field("domain", each.domain),
                              "Remove " + each.domain));
  for (const DomainClaim& each : view.claims)
    out +=
        each.is_open()
            ? markup(
                  "<div class=\"note\">The record of {} is being looked up. Load this page again in a "
                  "moment. {}</div>\n",
                  each.domain,
                  button_form("/account/domains/remove", form.token, hidden_field("domain", each.domain),
                              "Take back " + each.domain))
            : markup("<div class=\"note bad\">{} isn't proved: {}. {}{}</div>\n", each.domain, each.problem,
                     button_form("/account/domains", form.token, hidden_field("domain", each.domain),
                                 "Look again for " + each.domain),
                     button_form("/account/domains/remove", form.token, hidden_field("domain", each.domain),
                                 "Take back " + each.domain));
  const DomainProof proof = domain_proof("example.com", view.details.account.name, frame.url);
  out += markup(
      "<p>Your packages show a domain that is yours. Give it a TXT record, here for "
      "<code>example.com</code>:</p>\n"
      "{}<form method=\"post\" action=\"/account/domains\">\n{}{}<button>Look at it</button>\n</form>\n",
      code_block(fmt::format("{}. TXT \"{}\"", proof.name, proof.text)), form_field(form.token),
      text_field({.name = "domain",
                  .label = "Domain",
                  .hint = "It is looked at again each day; the record must stay."}));
  return out;
}

Markup removal_section(const FormState& form, const AccountView& view) {
  constexpr std::string_view kForm = "remove";
  return markup(
      "<h2 id=\"data\">Your data</h2>\n<p><a href=\"/account/export\">All that the catalog keeps of this "
      "account, "
      "as JSON</a></p>\n<details><summary>Delete this account</summary>\n<p>Its password, passkeys, "
      "identities, sessions, "
      "tokens, ratings, comments and reports are deleted, its projects unlinked. Versions that were "
      "published "
      "stay, without your name. Nobody gets the name again, not even you.</p>\n{}</details>\n",
      proved_form({.name = kForm,
                   .action = "/account/remove",
                   .words = "Delete it",
                   .fields = text_field(
                       {.name = "name", .label = "The name of the account, to be sure", .form = kForm})},
                  form, view));
}

Markup sessions_section(const FormState& form, const AccountView& view) {
  Markup rows;
  for (const Session& each : view.sessions)
    rows += markup(
        "<tr><th scope=\"row\">{}{}</th><td data-label=\"Address\">{}</td><td class=\"unbroken\" "
        "data-label=\"Since\">{}</td><td class=\"unbroken\" data-label=\"Last used\">{}</td></tr>\n",
        each.agent.empty() ? "Unknown" : each.agent.substr(0, kShownAgent),
        each.id == view.session ? markup(" <span class=\"state passed\">this one</span>") : Markup(),
        each.peer, format_time(each.began), format_time(each.used));
  return markup(
      "<h2 id=\"sessions\">Sessions</h2>\n{}{}{}",
      wide("sessions",
           markup("<table class=\"stacked cards\"><thead><tr><th scope=\"col\">Browser</th><th "
                  "scope=\"col\">Address</th><th "
                  "scope=\"col\">Since</th><th scope=\"col\">Last used</th></tr></thead>\n<tbody>{}</tbody>"
                  "</table>",
                  rows)),
      button_form("/account/sessions", form.token, {}, "End all other sessions"),
      button_form("/logout", form.token, {}, "Sign out"));
}

Markup tokens_table(const FormState& form, const std::vector<TokenFacts>& tokens) {
  const auto date = [](const std::optional<WallTime>& time) {
    return time ? format_time(*time).substr(0, 10) : std::string("never");
  };
  Markup rows;
  for (const TokenFacts& each : tokens)
    rows += markup(
        "<tr><th scope=\"row\">{}</th><td data-label=\"Scopes\">{}</td><td class=\"unbroken\" "
        "data-label=\"Created\">{}</td><td class=\"unbroken\" data-label=\"Last used\">{}</td><td "
        "class=\"unbroken\" data-label=\"Expires\">{}</td><td>{}</td></tr>\n",
        each.label.empty() ? "Without a label" : each.label, each.scopes.empty() ? "read" : each.scopes,
        date(each.created), date(each.used), date(each.expires),
        button_form("/account/tokens/revoke", form.token, hidden_field("id", std::to_string(each.id)),
                    "Revoke"));
  return wide(
      "tokens",
      markup("<table class=\"stacked cards\"><thead><tr><th scope=\"col\">Label</th><th "
             "scope=\"col\">Scopes</th><th "
             "scope=\"col\">Created</th><th scope=\"col\">Last used</th><th scope=\"col\">Expires</th>"
             "<td></td></tr></thead>\n<tbody>{}</tbody></table>",
             rows));
}

Markup tokens_section(const FormState& form, const AccountView& view) {
  Markup out = markup("<h2 id=\"tokens\">Tokens</h2>\n");
  out += view.tokens.empty() ? markup("<p>Programs use one for the REST API. There are none yet.</p>\n")
                             : tokens_table(form, view.tokens);
  Markup boxes;
  for (const ScopeWords& each : scope_words())
    if (view.details.account.role >= each.least)
      boxes += markup(
          "<label class=\"box\"><input type=\"checkbox\" name=\"scope\" value=\"{0}\"> <b>{0}</b>: "
          "{1}</label><br>\n",
          each.name, each.meaning);
  out += markup(
      "<h3>Make a token</h3>\n<form method=\"post\" "
      "action=\"/account/tokens\">\n{}{}<fieldset><legend>Scopes "
      "(none: it can only read)</legend>\n{}</fieldset>\n<div class=\"field\"><label "
      "for=\"field-days\">Expires</label><select id=\"field-days\" name=\"days\"><option value=\"30\">in 30 "
      "days</option><option value=\"90\" selected>in 90 days</option><option value=\"365\">in a "
      "year</option><option value=\"0\">never</option></select></div>\n<button>Make it</button>\n</form>\n",
      form_field(form.token),
      text_field({.name = "label", .label = "Label", .hint = "Name the program that uses it."}), boxes);
  return out;
}

// Why versions of this account aren't published.
Markup unpublished_list(const std::vector<ReviewedVersion>& versions) {
  Markup items;
  for (const auto& [version, owner] : versions)
    items += markup("<li><a href=\"{}/{}\">{} {}</a> {}</li>\n", package_path(version.package),
                    http::escape_segment(version.version), version.package, version.version,
                    version.review == Review::Rejected
                        ? markup("<span class=\"failed\">was rejected: {}</span>", version.rejected_because)
                        : markup("awaits its review"));
  if (items.empty()) return items;
  return markup("<h3 id=\"unpublished\">Versions that aren't published</h3>\n<ul>\n{}</ul>\n", items);
}

Markup projects_section(const FormState& form, const AccountView& view) {
  Markup rows;
  for (const Project& each : view.projects)
    rows += markup(
        "<tr><th scope=\"row\"><a href=\"{}\">{}</a></th><td class=\"whole\">{}{}{}</td><td>{}{}</td></tr>\n",
        package_path(each.name), each.name, link(each.url, each.url),
        each.hidden ? markup("<p class=\"failed\">The moderators hid it: {}</p>", *each.hidden) : Markup(),
        each.problem.empty() ? Markup() : markup("<p class=\"failed\">{}</p>", each.problem),
        button_form("/account/projects/poll", form.token, hidden_field("name", each.name), "Poll now"),
        button_form("/account/projects/unlink", form.token, hidden_field("name", each.name), "Unlink"));
  Markup out = markup("<h2 id=\"projects\">Projects</h2>\n");
  out += rows.empty() ? markup("<p>There are none yet.</p>\n")
                      : wide("projects", markup("<table class=\"stacked\">\n{}</table>", rows));
  out += unpublished_list(view.unpublished);
  out += markup(
      "<h3>Link a repository</h3>\n<form method=\"post\" action=\"/account/projects\">\n{}{}{}{}"
      "<button>Link it</button>\n</form>\n",
      form_field(form.token),
      text_field({.name = "name", .label = "Name of the package", .hint = "It is yours from now on."}),
      text_field({.name = "url", .label = "Address of the git repository", .type = "url"}),
      text_field({.name = "path",
                  .label = "Directory of the package",
                  .hint = "Empty: the repository's root.",
                  .required = false}));
  return out;
}

}  // namespace

std::string login_page(const PageFrame& frame, const FormState& form, Registration registration,
                       const std::string& issuer, PasskeyOffer offer) {
  Markup content = markup(
      "<h1>Sign in</h1>\n{}<form method=\"post\" action=\"/login\">\n{}{}{}{}<button>Sign in</button>\n"
      "</form>\n",
      problem_note(form.problem), form_field(form.token), hidden_field("next", form.next),
      text_field({.name = "name", .label = "Name", .autocomplete = "username", .value = form.name}),
      text_field(
          {.name = "password", .label = "Password", .type = "password", .autocomplete = "current-password"}));
  if (offer == PasskeyOffer::Yes) content += passkey_sign_in(form);
  if (!issuer.empty())
    content += markup("<p><a href=\"{}\">Sign in with {}</a></p>\n", next_query("/login/oidc", form.next),
                      host_of(issuer));
  content += registration == Registration::Open
                 ? markup("<p><a href=\"{}\">Make an account</a></p>\n", next_query("/register", form.next))
                 : markup("<p class=\"soft\">Accounts are made by those who run this catalog.</p>\n");
  return frame_of(frame, "Sign in", content).text();
}

std::string departure_page(const PageFrame& frame, const std::string& address) {
  const Markup content =
      markup("<h1>To the issuer</h1>\n<p>{}</p>\n", link(address, "Continue at " + host_of(address)));
  return frame_of(frame, "To the issuer", content).text();
}

std::string register_page(const PageFrame& frame, const FormState& form) {
  const Markup content = markup(
      "<h1>Make an account</h1>\n{}<form method=\"post\" action=\"/register\">\n{}{}{}{}"
      "<button>Make it</button>\n</form>\n",
      problem_note(form.problem), form_field(form.token), hidden_field("next", form.next),
      text_field({.name = "name",
                  .label = "Name",
                  .autocomplete = "username",
                  .value = form.name,
                  .hint = "Lower case letters, digits and '-'. Everybody sees it at your packages."}),
      text_field({.name = "password",
                  .label = "Password",
                  .type = "password",
                  .autocomplete = "new-password",
                  .hint = "12 characters or more."}));
  return frame_of(frame, "Make an account", content).text();
}

TextField code_field(const AccountDetails& details) {
  return details.has_second_factor ? kCodeField : kRecoveryField;
}

std::string code_page(const PageFrame& frame, const FormState& form, const AccountDetails& details,
                      PasskeyOffer offer) {
  const bool by_passkey = details.passkeys > 0 && offer == PasskeyOffer::Yes;
  const std::string_view title = details.has_second_factor ? "Code" : "One more step";
  Markup content = markup(
      "<h1>{}</h1>\n{}<form method=\"post\" action=\"/login/code\"{}>\n{}{}{}<button>Sign in</button>\n{}"
      "</form>\n",
      title, problem_note(form.problem), by_passkey ? passkey_form("/login/code/ask") : Markup(),
      form_field(form.token), hidden_field("next", form.next), text_field(code_field(details)),
      by_passkey
          ? passkey_button("Use a passkey", "Your passkey needs JavaScript. A recovery code works without.")
          : Markup());
  if (by_passkey) content += passkey_script_tag();
  return frame_of(frame, title, content).text();
}

std::string second_factor_page(const PageFrame& frame, const FormState& form, const std::string& secret,
                               const std::string& account) {
  const std::string address = totp_uri(secret, account, host_of(frame.url));
  // A picture of the page itself: whoever drew it elsewhere would have the secret.
  const std::optional<QrCode> code = qr_code(address);
  const Markup content = markup(
      "<h1>Set up an authenticator</h1>\n{}{}<p>{} this secret, as a key for codes of six digits that change "
      "every 30 seconds:</p>\n{}<p>The same as an address:</p>\n{}<p>Then type the code that it shows. All "
      "other sessions end.</p>\n<form method=\"post\" action=\"/account/code/confirm\">\n{}{}{}"
      "<button>Confirm</button>\n</form>\n",
      problem_note(form.problem),
      code ? markup("<p>Scan this code with your authenticator:</p>\n{}",
                    picture(*code, "QR code of the address below"))
           : Markup(),
      code ? "Or give it" : "Give your authenticator", code_block(base32(secret)), code_block(address),
      form_field(form.token), hidden_field(kSecretField, base32(secret)),
      text_field({.name = "code", .label = "Code", .autocomplete = "one-time-code"}));
  return frame_of(frame, "Set up an authenticator", content).text();
}

std::string recovery_codes_page(const PageFrame& frame, const std::vector<SecretString>& codes) {
  std::string lines;
  for (const SecretString& each : codes) lines += each.reveal() + "\n";
  const Markup content = markup(
      "<h1>Recovery codes</h1>\n<p>From now on more than the password is asked for. Keep these where you "
      "find them without your authenticator or passkey: each signs you in once in its place. They are shown "
      "only "
      "now.</p>\n{}<p><a href=\"/account\">To your account</a></p>\n",
      code_block(lines));
  return frame_of(frame, "Recovery codes", content).text();
}

std::string account_page(const PageFrame& frame, const FormState& form, const AccountView& view) {
  const Account& account = view.details.account;
  Markup content = markup("<h1>{}</h1>\n<p class=\"lead\">Role: {}. Since {}.</p>\n{}", account.name,
                          to_string(account.role), format_time(view.details.created).substr(0, 10),
                          problem_note(form.problem));
  if (account.role >= Role::Moderator)
    content += markup(
        "<p><a href=\"/admin/reports\">Open reports: {}</a></p>\n<p><a href=\"/admin/reviews\">Versions that "
        "await a review: {}</a></p>\n",
        view.reports, view.reviews);
  if (account.role == Role::Administrator)
    content += markup("<p><a href=\"/admin\">Accounts of others, and what was changed</a></p>\n");
  content += projects_section(form, view);
  content += tokens_section(form, view);
  content += sessions_section(form, view);
  content += password_section(form, view);
  content += recovery_note(view.details);
  content += passkeys_section(form, view.details, view.passkeys, view.offer);
  content += second_factor_section(form, view);
  content += identities_section(form, view);
  content += domains_section(frame, form, view);
  content += removal_section(form, view);
  return frame_of(frame, account.name, content).text();
}

std::string token_page(const PageFrame& frame, const SecretString& token) {
  const Markup content = markup(
      "<h1>The new token</h1>\n<p>It is shown only now.</p>\n{}<p>Send it as <code>Authorization: Bearer "
      "TOKEN</code>. <a href=\"/account\">To your account</a></p>\n",
      code_block(token.reveal()));
  return frame_of(frame, "The new token", content).text();
}

std::string linked_page(const PageFrame& frame, const Project& project) {
  const Markup content = markup(
      "<h1>{} is linked</h1>\n<p>Each tag of <code>{}</code> becomes a version from now on. The repository "
      "is "
      "polled; with a webhook versions come at once.</p>\n<h2>Webhook</h2>\n<p>For GitHub, GitLab, Gitea or "
      "Forgejo, of the type JSON. The secret is shown only now.</p>\n{}{}<p><a href=\"/account\">To your "
      "account</a></p>\n",
      project.name, project.url, code_block(fmt::format("{}/api/v1/hooks/{}", frame.url, project.name)),
      code_block(project.webhook_secret.reveal()));
  return frame_of(frame, project.name + " is linked", content).text();
}

Markup version_controls(const Version& version, const std::string& form_token) {
  Markup fields = hidden_field("package", version.package);
  fields += hidden_field("version", version.version);
  Markup out = markup("<h2 id=\"change\">Change this version</h2>\n");
  out += button_form("/account/versions/test", form_token, fields, "Test again");
  if (version.yanked) {
    out += button_form("/account/versions/unyank", form_token, fields, "Take back the yank");
    return out;
  }
  fields += text_field({.name = "reason", .label = "Why it is yanked", .required = false});
  out += button_form("/account/versions/yank", form_token, fields, "Yank");
  return out;
}

Markup review_controls(const Version& version, const std::string& form_token) {
  Markup fields = hidden_field("package", version.package);
  fields += hidden_field("version", version.version);
  Markup out = markup("<h2 id=\"review\">Review</h2>\n");
  out += button_form("/admin/reviews/publish", form_token, fields, "Publish this version");
  if (version.review != Review::Awaited) return out;
  fields += text_field({.name = "why", .label = "Why it is rejected, for its author", .form = "reject"});
  return out += button_form("/admin/reviews/reject", form_token, fields, "Reject this version");
}

std::string reviews_page(const PageFrame& frame, const Slice<ReviewedVersion>& reviews) {
  Markup rows;
  for (const auto& [version, owner] : reviews.items)
    rows += markup(
        "<tr><th scope=\"row\"><a href=\"{}/{}\">{} {}</a></th><td>{}</td><td>{}</td><td "
        "class=\"unbroken\">{}</td></tr>\n",
        package_path(version.package), http::escape_segment(version.version), version.package,
        version.version, owner, to_string(version.state), format_time(version.created).substr(0, 10));
  Markup content = markup(
      "<h1 id=\"reviews\">Versions that await a review</h1>\n<p>Nobody but their authors and moderators sees "
      "them. They are published or rejected on their own pages.</p>\n");
  content += rows.empty()
                 ? markup("<p>None does.</p>\n")
                 : wide("reviews",
                        markup("<table><thead><tr><th scope=\"col\">Version</th><th scope=\"col\">Of</th><th "
                               "scope=\"col\">Test</th><th scope=\"col\">Submitted</th></tr></thead>\n"
                               "<tbody>{}</tbody></table>",
                               rows));
  if (!reviews.next.empty())
    content += markup("<p><a href=\"/admin/reviews?after={}\" rel=\"next\">More</a></p>\n",
                      http::escape_query(reviews.next));
  return frame_of(frame, "Reviews", content).text();
}

Markup hiding_controls(const Version& version, const std::string& form_token) {
  const Markup package = hidden_field("package", version.package);
  Markup one = package;
  one += hidden_field("version", version.version);
  const auto hide = [&](Markup fields, std::string_view form, std::string_view words) {
    fields += text_field({.name = "why", .label = "Why it is hidden, for everybody", .form = form});
    return button_form("/admin/packages/hide", form_token, fields, words);
  };
  Markup out = markup("<h2 id=\"moderate\">Moderate</h2>\n");
  if (version.is_package_hidden)
    return out += button_form("/admin/packages/show", form_token, package, "Show the package again");
  if (version.hidden)
    out += button_form("/admin/packages/show", form_token, one, "Show this version again");
  else
    out += hide(one, "hide-version", "Hide this version");
  return out += hide(package, "hide-package", "Hide the package");
}

}  // namespace mist::catalog
