#pragma once
// The pages of accounts: signing in, and what an account has. Pure: data in, HTML out. Any thread.

#include <optional>
#include <string>
#include <vector>

#include "catalog/account_store.h"
#include "catalog/form_parts.h"
#include "catalog/page_frame.h"
#include "catalog/passkey_store.h"

namespace mist::catalog {

/// A form's answers that are shown again, and why it was refused.
struct FormState {
  std::string token;    ///< session.h, form_token
  std::string problem;  ///< empty: none
  std::string name;
  std::string next;  ///< the path to go to afterwards; empty: the account's page
};

enum class Registration : std::uint8_t { Closed, Open };
/// Whether a page offers to use a passkey.
enum class PasskeyOffer : std::uint8_t { No, Yes };

/// `issuer` that accounts sign in with; empty: there is none.
std::string login_page(const PageFrame& frame, const FormState& form, Registration registration,
                       const std::string& issuer, PasskeyOffer offer);
/// It leads to `address` at the issuer by itself, and by a link.
std::string departure_page(const PageFrame& frame, const std::string& address);
std::string register_page(const PageFrame& frame, const FormState& form);

/// Between the password and the page that somebody wanted.
std::string code_page(const PageFrame& frame, const FormState& form, const AccountDetails& details,
                      PasskeyOffer offer);
/// Of what the account's owner can type, after the password or before something that can't be undone.
TextField code_field(const AccountDetails& details);
/// The field in which the form that confirms a new authenticator gives its secret back, in base32.
inline constexpr std::string_view kSecretField = "secret";
/// A new authenticator's secret, and the form that confirms it.
std::string second_factor_page(const PageFrame& frame, const FormState& form, const std::string& secret,
                               const std::string& account);
/// They are shown this once.
std::string recovery_codes_page(const PageFrame& frame, const std::vector<SecretString>& codes);

struct AccountView {
  AccountDetails details;
  std::int64_t session = 0;  ///< that the page is shown in
  std::vector<Session> sessions;
  std::vector<Project> projects;
  std::vector<TokenFacts> tokens;
  std::vector<AccountStore::LinkedIdentity> identities;
  std::string issuer;                             ///< as of login_page
  std::int64_t reports = 0;                       ///< that are open
  std::int64_t reviews = 0;                       ///< that moderators have to make
  std::vector<ReviewedVersion> unpublished = {};  ///< its own versions: some of them
  std::vector<OwnDomain> domains;
  std::vector<DomainClaim> claims = {};
  std::vector<Passkey> passkeys = {};
  PasskeyOffer offer = PasskeyOffer::No;
};
std::string account_page(const PageFrame& frame, const FormState& form, const AccountView& view);
/// The answer to making a token, which is shown this once.
std::string token_page(const PageFrame& frame, const SecretString& token);
/// The answer to linking a project: its webhook's secret is shown this once.
std::string linked_page(const PageFrame& frame, const Project& project);

/// Forms, for the package's page, of all that its author and moderators may do with a version.
Markup version_controls(const Version& version, const std::string& form_token);
/// Forms that let moderators publish or reject it.
Markup review_controls(const Version& version, const std::string& form_token);
/// The versions that await a review.
std::string reviews_page(const PageFrame& frame, const Slice<ReviewedVersion>& reviews);
/// Forms that let moderators hide it, or its package, and show them again.
Markup hiding_controls(const Version& version, const std::string& form_token);

}  // namespace mist::catalog
