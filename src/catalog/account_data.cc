#include "catalog/account_data.h"

#include "base/text.h"
#include "catalog/json_views.h"

namespace mist::catalog {
namespace {

using encoding::Value;

constexpr int kOfPage = 100;

template <typename T, typename Get, typename View>
Result<Value> all_of(const Get& get, const View& view) {
  Value items{Value::Array{}};
  Page page{.after = {}, .limit = kOfPage};
  do {
    MIST_TRY(const Slice<T> slice, get(page));
    for (const T& each : slice.items) items.push_back(view(each));
    page.after = slice.next;
  } while (!page.after.empty());
  return items;
}

template <typename T, typename View>
Value list_of(const std::vector<T>& list, const View& view) {
  Value items{Value::Array{}};
  for (const T& each : list) items.push_back(view(each));
  return items;
}

Value session_value(const Session& session) {
  return Value::object({{"began", Value(format_time(session.began))},
                        {"used", Value(format_time(session.used))},
                        {"browser", Value(session.agent)},
                        {"address", Value(session.peer)}});
}

Value passkey_value(const Passkey& passkey) {
  return Value::object({{"name", Value(passkey.facts.name)},
                        {"created", Value(format_time(passkey.created))},
                        {"used", passkey.used ? Value(format_time(*passkey.used)) : Value()},
                        {"severalDevices", Value(passkey.facts.backup_eligible)}});
}

}  // namespace

Result<Value> account_data(const AccountStores& stores, const std::string& name) {
  AccountStore& accounts = stores.accounts;
  MIST_TRY(const std::optional<AccountDetails> details, accounts.find(name));
  if (!details) return error(ErrorKind::NotFound, "there is no account {}", escape_controls(name));
  MIST_TRY(const std::vector<AccountStore::LinkedIdentity> identities, accounts.identities(name));
  MIST_TRY(const std::vector<OwnDomain> domains, accounts.domains(name));
  MIST_TRY(const std::vector<DomainClaim> claims, accounts.domain_claims(name));
  MIST_TRY(const std::vector<Session> sessions, accounts.sessions(name));
  MIST_TRY(const std::vector<TokenFacts> tokens, accounts.tokens(name));
  std::vector<Passkey> passkeys;
  if (stores.passkeys != nullptr) {
    MIST_TRY(passkeys, stores.passkeys->passkeys(name));
  }
  MIST_TRY(const std::vector<OwnRating> ratings, stores.feedback.ratings_by(name));
  MIST_TRY(const std::vector<AbuseReport> reports, stores.feedback.reports_by(name));
  MIST_TRY(Value projects,
           all_of<Project>([&](const Page& page) { return stores.store.projects(name, page); },
                           [](const Project& each) { return to_value(each); }));
  MIST_TRY(Value comments,
           all_of<Comment>([&](const Page& page) { return stores.feedback.comments_by(name, page); },
                           [](const Comment& each) {
                             Value shown = to_value(each);
                             shown.set("text", Value(each.text));
                             return shown;
                           }));
  const AuditFilter filter{.who = name};
  MIST_TRY(Value audit,
           all_of<AuditEntry>([&](const Page& page) { return stores.store.audit_log(filter, page); },
                              [](const AuditEntry& each) { return to_value(each); }));
  return Value::object(
      {{"name", Value(name)},
       {"role", Value(to_string(details->account.role))},
       {"created", Value(format_time(details->created))},
       {"disabled", Value(details->disabled)},
       {"password", Value(details->has_password)},
       {"authenticator", Value(details->has_second_factor)},
       {"passkeys", list_of(passkeys, passkey_value)},
       {"identities", list_of(identities,
                              [](const AccountStore::LinkedIdentity& each) {
                                return Value::object(
                                    {{"issuer", Value(each.issuer)}, {"subject", Value(each.subject)}});
                              })},
       {"domains", list_of(domains,
                           [](const OwnDomain& each) {
                             return Value::object({{"domain", Value(each.domain)},
                                                   {"proved", Value(format_time(each.proved))}});
                           })},
       {"domainClaims", list_of(claims,
                                [](const DomainClaim& each) {
                                  Value shown = to_value(each);
                                  shown.set("address", Value(each.peer));
                                  return shown;
                                })},
       {"sessions", list_of(sessions, session_value)},
       {"tokens", list_of(tokens, [](const TokenFacts& each) { return to_value(each); })},
       {"projects", std::move(projects)},
       {"ratings", list_of(ratings,
                           [](const OwnRating& each) {
                             return Value::object({{"package", Value(each.package)},
                                                   {"stars", Value(each.stars)},
                                                   {"changed", Value(format_time(each.changed))}});
                           })},
       {"comments", std::move(comments)},
       {"reports", list_of(reports, [](const AbuseReport& each) { return to_value(each); })},
       {"audit", std::move(audit)}});
}

}  // namespace mist::catalog
