#include "catalog/token.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "catalog/audit_words.h"
#include "crypto/digest.h"

namespace mist::catalog {
namespace {

constexpr std::size_t kLongestLabel = 100;
constexpr std::size_t kMostTokens = 100;  // of an account

constexpr std::array kScopes{
    ScopeWords{Scope::Projects, "projects", "link, unlink and poll projects, prove and remove domains",
               Role::Author},
    ScopeWords{Scope::Versions, "versions", "yank versions, and test them again", Role::Author},
    ScopeWords{Scope::Feedback, "feedback", "rate packages, comment on them and report them", Role::Author},
    ScopeWords{Scope::Moderate, "moderate", "the rights of a moderator", Role::Moderator},
    ScopeWords{Scope::Admin, "admin", "the rights of an administrator", Role::Administrator},
    ScopeWords{Scope::Tokens, "tokens", "make and revoke tokens", Role::Author},
};

}  // namespace

std::span<const ScopeWords> scope_words() { return kScopes; }

Result<Scopes> Scopes::parse(std::string_view names) {
  Scopes scopes;
  std::string text(names);
  std::ranges::replace(text, ',', ' ');
  for (const std::string_view name : split(text, ' ')) {
    if (name.empty()) continue;
    const auto known = std::ranges::find(kScopes, name, &ScopeWords::name);
    if (known == kScopes.end())
      return error(ErrorKind::Invalid, "there is no scope {}", escape_controls(name))
          .with_hint("projects, versions, feedback, moderate, admin, tokens");
    scopes.add(known->scope);
  }
  return scopes;
}

std::vector<std::string> Scopes::names() const {
  std::vector<std::string> names;
  for (const ScopeWords& each : kScopes)
    if (has(each.scope)) names.emplace_back(each.name);
  return names;
}

Account limited_to(Account account, const Scopes& scopes) {
  const Role most = scopes.has(Scope::Admin)      ? Role::Administrator
                    : scopes.has(Scope::Moderate) ? Role::Moderator
                                                  : Role::Author;
  account.role = std::min(account.role, most);
  return account;
}

Scopes scopes_of(Role role) {
  Scopes scopes;
  for (const ScopeWords& each : kScopes)
    if (role >= each.least) scopes.add(each.scope);
  return scopes;
}

SecretString new_token(Random& random) { return SecretString(std::string(kTokenPrefix) + random.token(32)); }

// The token is random, and as long as the digest: no slow function makes it harder to find.
std::string token_digest(std::string_view token) { return crypto::sha256(token).str(); }

Result<SecretString> TokenActions::make(const Actor& actor, const Allowed& allowed, const Wish& wish) {
  if (!wish.scopes.are_within(allowed.scopes))
    return error(ErrorKind::Forbidden, "a token can't have more rights than you have here")
        .with_hint(fmt::format("at most {}", join(allowed.scopes.names(), ", ")));
  if (allowed.until && wish.expires && *wish.expires > *allowed.until)
    return error(ErrorKind::Forbidden, "a token can't make one that lasts longer than itself")
        .with_hint(fmt::format("at most until {}", format_time(*allowed.until)));
  if (wish.label.empty() || wish.label.size() > kLongestLabel)
    return error(ErrorKind::Invalid, "a token needs a label of at most {} bytes", kLongestLabel);
  if (wish.expires && *wish.expires <= dependencies_.clock.now())
    return error(ErrorKind::Invalid, "the token would be over already");
  MIST_TRY(const std::vector<TokenFacts> tokens, dependencies_.accounts.tokens(actor.account.name));
  if (tokens.size() >= kMostTokens)
    return error(ErrorKind::Conflict, "{} has {} tokens", actor.account.name, tokens.size())
        .with_hint("revoke those that nothing uses");
  SecretString token = new_token(dependencies_.random);
  MIST_TRY_VOID(dependencies_.accounts.add_token({.account = actor.account.name,
                                                  .digest = token_digest(token.reveal()),
                                                  .label = wish.label,
                                                  .scopes = join(wish.scopes.names(), " "),
                                                  .expires = wish.expires ? wish.expires : allowed.until},
                                                 entry_of(actor, kAuditCreateToken, wish.label)));
  return token;
}

Status TokenActions::revoke(const Actor& actor, std::int64_t id) {
  return dependencies_.accounts.revoke_token(actor.account.name, id,
                                             entry_of(actor, "revoke token", std::to_string(id)));
}

}  // namespace mist::catalog
