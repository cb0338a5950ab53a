#pragma once
// The pages on which somebody signs in and changes something, all of them forms: what a browser may send, who
// may send it, and what comes of it. The REST API takes no cookies, these pages no tokens. Handlers block and
// run on any number of threads at once.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "catalog/account_pages.h"
#include "catalog/account_store.h"
#include "catalog/admin_actions.h"
#include "catalog/author_actions.h"
#include "catalog/domains.h"
#include "catalog/feedback_actions.h"
#include "catalog/oidc.h"
#include "catalog/passkeys.h"
#include "catalog/password.h"
#include "catalog/rate_limit.h"
#include "catalog/session.h"
#include "catalog/sign_in.h"
#include "catalog/store.h"
#include "catalog/token.h"
#include "catalog/web_answers.h"
#include "http/web_server.h"

namespace mist::catalog {

/// Somebody who is signed in.
struct Visitor {
  Session session = {};
  SecretString cookie = {};
  std::string form_token() const { return catalog::form_token(cookie); }
};

/// The field `next`, if it is the path of a page of this catalog; else empty.
std::string next_of(const Fields& fields);
/// A sentence for a page, without its full stop.
std::string problem_of(const Error& failure);
/// 429.
http::WebAnswer wait_page(const PageFrame& frame, int seconds);

class AccountSite {
 public:
  struct Dependencies {
    Store& store;
    AccountStore& accounts;
    FeedbackStore& feedback;
    AuthorActions& actions;
    FeedbackActions& opinions;
    DomainActions& domains;
    TokenActions& tokens;
    PasswordHasher& passwords;
    Clock& clock;
    Random& random;
    OidcClient* oidc = nullptr;        ///< null: there is no issuer
    PasskeyStore* passkeys = nullptr;  ///< null: accounts have none
  };
  struct Options {
    std::string url;  ///< of this catalog, as others reach it
    Registration registration = Registration::Closed;
    double writes_per_minute = 60;  ///< of one account
  };
  AccountSite(Dependencies dependencies, Options options);

  /// Of a request's cookie; nullopt: it has none that is valid, or a code is needed still.
  Result<std::optional<Visitor>> visitor(const http::WebRequest& request);

  /// Whether pages at that path are answered here.
  bool has(const std::vector<std::string>& parts) const;
  Result<http::WebAnswer> answer(const http::WebRequest& request, const std::string& peer);

 private:
  struct Ask {
    const http::WebRequest& request;
    const std::string& peer;
    Fields query = {}, form = {};
    std::optional<Visitor> visitor = {};
    std::optional<Visitor> waiting = {};  // gave a password, and must give a code
    SecretString browser = {};            // cookie of a browser that shows a form before signing in
    PageFrame frame = {};

    const SecretString& cookie() const {
      return visitor ? visitor->cookie : waiting ? waiting->cookie : browser;
    }
    const Account& account() const { return visitor->session.account; }
    Actor actor() const { return {account(), peer}; }
    SignIn::From from() const;
    FormState state(std::string problem = {}) const;
  };
  using Reply = Result<http::WebAnswer>;
  enum class Needs : std::uint8_t { Nobody, Password, Account, Moderator, Administrator };
  struct Route {
    std::string_view method, path;
    Needs needs;
    Reply (AccountSite::*handle)(const Ask&);
  };
  static std::span<const Route> routes();

  Result<std::optional<Visitor>> session_of(const http::WebRequest& request);
  Result<Ask> understood(const http::WebRequest& request, const std::string& peer);
  Status check(const Ask& ask, const Route& route);
  Reply refused(const Ask& ask, const Error& failure) const;

  Reply show_login(const Ask& ask);
  Reply log_in(const Ask& ask);
  Reply log_out(const Ask& ask);
  Reply show_registration(const Ask& ask);
  Reply add_account(const Ask& ask);
  Reply show_account(const Ask& ask);
  Reply change_password(const Ask& ask);
  Reply leave_to_sign_in(const Ask& ask);
  Reply leave_to_link(const Ask& ask);
  Reply come_back(const Ask& ask);
  Reply unlink_identity(const Ask& ask);
  Reply end_sessions(const Ask& ask);
  Reply make_token(const Ask& ask);
  Reply revoke_token(const Ask& ask);
  Reply link_project(const Ask& ask);
  Reply unlink_project(const Ask& ask);
  Reply poll_project(const Ask& ask);
  Reply test_version(const Ask& ask);
  Reply show_accounts(const Ask& ask);
  Reply show_audit(const Ask& ask);
  Reply set_role(const Ask& ask);
  Reply disable(const Ask& ask);
  Reply enable(const Ask& ask);
  Reply yank_version(const Ask& ask);
  Reply unyank_version(const Ask& ask);
  Reply prove_domain(const Ask& ask);
  Reply remove_domain(const Ask& ask);
  Reply export_account(const Ask& ask);
  Reply remove_account(const Ask& ask);

  // account_site_factors.cc
  Reply show_code(const Ask& ask);
  Reply take_code(const Ask& ask);
  Reply begin_second_factor(const Ask& ask);
  Reply confirm_second_factor(const Ask& ask);
  Reply remove_second_factor(const Ask& ask);
  Reply ask_for_passkey(const Ask& ask);
  Reply sign_in_by_passkey(const Ask& ask);
  Reply ask_to_confirm(const Ask& ask);
  Reply ask_to_register(const Ask& ask);
  Reply add_passkey(const Ask& ask);
  Reply remove_passkey(const Ask& ask);
  Reply code_answer(const Ask& ask, std::string problem, int status);
  Reply recovery_codes_answer(const Ask& ask, const std::vector<SecretString>& codes);
  // Before what an open browser, or a stolen session, isn't enough for: the password, and the code or a
  // passkey, of an account that has them. nullopt: proved; else the answer that says to wait. Forbidden.
  // `by`: the field with the passkey's answer.
  Result<std::optional<http::WebAnswer>> prove_owner(const Ask& ask, std::string_view by);
  // The part of it beside the password.
  Status prove_second_factor(const Ask& ask, std::string_view by);
  // Writes down that somebody may have a copy of a passkey.
  void note_copy(const Ask& ask, const Error& failure);
  Result<Passkeys*> passkeys();
  PasskeyOffer offer() const;

  // account_site_feedback.cc
  Reply rate(const Ask& ask);
  Reply take_back_rating(const Ask& ask);
  Reply add_comment(const Ask& ask);
  Reply change_comment(const Ask& ask);
  Reply remove_comment(const Ask& ask);
  Reply report_package(const Ask& ask);
  Reply report_comment(const Ask& ask);
  Reply show_reports(const Ask& ask);
  Reply close_report(const Ask& ask);
  Reply hide_comment(const Ask& ask);
  Reply show_comment(const Ask& ask);
  Reply hide_package(const Ask& ask);
  Reply show_package(const Ask& ask);
  Reply show_reviews(const Ask& ask);
  Reply publish_version(const Ask& ask);
  Reply reject_version(const Ask& ask);
  Result<std::string> package_of_comment(std::int64_t id);

  http::WebAnswer login_answer(const Ask& ask, std::string problem, int status) const;
  http::WebAnswer registration_answer(const Ask& ask, std::string problem, int status) const;
  http::WebAnswer signed_in(const std::string& next, const SecretString& cookie) const;
  // After the password or the issuer's word: a code may be needed still.
  Reply begun_answer(const Ask& ask, const std::string& name, const SignIn::Begun& begun,
                     const std::string& next);
  Result<std::string> issuers_address(const Ask& ask, const std::string& account);
  Result<std::string> account_for(const Ask& ask, const Identity& identity);
  http::WebAnswer with_browser(const Ask& ask, http::WebAnswer answer) const;

  Dependencies dependencies_;
  const Options options_;
  const std::string origin_;
  const Cookies cookies_;
  SignIn sign_in_;
  std::optional<Passkeys> passkeys_;
  AdminActions admin_;
  RateLimit writes_, registrations_, sign_ins_, passkey_tries_;
};

}  // namespace mist::catalog
