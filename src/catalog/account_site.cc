#include "catalog/account_site.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <limits>

#include "base/storage_fault.h"
#include "base/text.h"
#include "catalog/account_data.h"
#include "catalog/admin_pages.h"
#include "catalog/audit_words.h"
#include "catalog/passkey_pages.h"
#include "http/url.h"

namespace mist::catalog {
namespace {

using http::WebAnswer;
using http::WebRequest;

constexpr std::size_t kLongestNext = 400;
constexpr int kMostProjects = 100;
constexpr int kMostUnpublished = 50;
constexpr int kMostAccounts = 100;
constexpr int kMostEntries = 100;
// Sign-ins that one client begins at the issuer: 20 at once, then one in 10 seconds.
constexpr double kSignInsRate = 1.0 / 10;
constexpr double kSignInsBurst = 20;
constexpr int kMostNames = 50;
constexpr std::size_t kLongestName = 40;
constexpr int kMostTokenDays = 3650;
// Questions for passkeys and their answers, of one client: 40 at once, then one in five seconds.
constexpr double kPasskeysRate = 1.0 / 5;
constexpr double kPasskeysBurst = 40;
// New accounts of one client: five at once, then one in ten minutes.
constexpr double kRegistrationsRate = 1.0 / 600;
constexpr double kRegistrationsBurst = 5;

// Paths of pages to which somebody returns after signing in: of this catalog, never of another host.
bool is_page_of_ours(std::string_view path) {
  return path.size() <= kLongestNext && path.starts_with('/') && !path.starts_with("//") &&
         std::ranges::all_of(path, [](char c) { return c > 0x20 && c < 0x7f && c != '\\'; });
}

std::string origin_of(const std::string& url) {
  const auto parsed = http::Url::parse(url);
  return parsed.ok() ? parsed->origin() : url;
}

Result<int> number_of(const std::string& text, int most) {
  int number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || end != text.data() + text.size() || number < 0 || number > most)
    return error(ErrorKind::Invalid, "{} is not a number up to {}", escape_controls(text), most);
  return number;
}

// The letters and digits of a name as an account may have it.
std::string proposed_name(std::string_view text) {
  std::string name;
  for (const char c : lower_case(text.substr(0, text.find('@')))) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (is_plain && name.size() < kLongestName)
      name += c;
    else if (!name.empty() && name.back() != '-' && name.size() < kLongestName)
      name += '-';
  }
  while (name.ends_with('-')) name.pop_back();
  return is_dns1123_label(name) ? name : "user";
}

std::string version_page(const Fields& form) {
  return fmt::format("/packages/{}/{}", http::escape_segment(field(form, "package")),
                     http::escape_segment(field(form, "version")));
}

}  // namespace

std::string next_of(const Fields& fields) {
  const std::string next = field(fields, "next");
  return is_page_of_ours(next) ? next : std::string();
}

std::string problem_of(const Error& failure) {
  std::string text =
      failure.hint.empty() ? failure.message : fmt::format("{}: {}", failure.message, failure.hint);
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

WebAnswer wait_page(const PageFrame& frame, int seconds) {
  WebAnswer answer =
      html(message_page(frame, "Too many tries", fmt::format("Try again in {} seconds.", seconds)), 429);
  answer.headers.push_back({"Retry-After", std::to_string(seconds)});
  return answer;
}

std::span<const AccountSite::Route> AccountSite::routes() {
  using S = AccountSite;
  static constexpr std::array kRoutes{
      Route{"GET", "/login", Needs::Nobody, &S::show_login},
      Route{"POST", "/login", Needs::Nobody, &S::log_in},
      Route{"GET", "/login/code", Needs::Password, &S::show_code},
      Route{"POST", "/login/code", Needs::Password, &S::take_code},
      Route{"POST", "/login/code/ask", Needs::Password, &S::ask_to_confirm},
      Route{"POST", "/login/passkey", Needs::Nobody, &S::sign_in_by_passkey},
      Route{"POST", "/login/passkey/ask", Needs::Nobody, &S::ask_for_passkey},
      Route{"GET", "/login/oidc", Needs::Nobody, &S::leave_to_sign_in},
      Route{"GET", "/login/oidc/callback", Needs::Nobody, &S::come_back},
      Route{"POST", "/logout", Needs::Account, &S::log_out},
      Route{"GET", "/register", Needs::Nobody, &S::show_registration},
      Route{"POST", "/register", Needs::Nobody, &S::add_account},
      Route{"GET", "/account", Needs::Account, &S::show_account},
      Route{"POST", "/account/password", Needs::Account, &S::change_password},
      Route{"POST", "/account/identities", Needs::Account, &S::leave_to_link},
      Route{"POST", "/account/identities/remove", Needs::Account, &S::unlink_identity},
      Route{"POST", "/account/code", Needs::Account, &S::begin_second_factor},
      Route{"POST", "/account/code/confirm", Needs::Account, &S::confirm_second_factor},
      Route{"POST", "/account/code/remove", Needs::Account, &S::remove_second_factor},
      Route{"POST", "/account/passkeys", Needs::Account, &S::add_passkey},
      Route{"POST", "/account/passkeys/ask", Needs::Account, &S::ask_to_register},
      Route{"POST", "/account/passkeys/confirm", Needs::Account, &S::ask_to_confirm},
      Route{"POST", "/account/passkeys/remove", Needs::Account, &S::remove_passkey},
      Route{"POST", "/account/sessions", Needs::Account, &S::end_sessions},
      Route{"POST", "/account/tokens", Needs::Account, &S::make_token},
      Route{"POST", "/account/tokens/revoke", Needs::Account, &S::revoke_token},
      Route{"POST", "/account/projects", Needs::Account, &S::link_project},
      Route{"POST", "/account/projects/unlink", Needs::Account, &S::unlink_project},
      Route{"POST", "/account/projects/poll", Needs::Account, &S::poll_project},
      Route{"POST", "/account/versions/test", Needs::Account, &S::test_version},
      Route{"POST", "/account/versions/yank", Needs::Account, &S::yank_version},
      Route{"POST", "/account/versions/unyank", Needs::Account, &S::unyank_version},
      Route{"POST", "/account/domains", Needs::Account, &S::prove_domain},
      Route{"POST", "/account/domains/remove", Needs::Account, &S::remove_domain},
      Route{"GET", "/account/export", Needs::Account, &S::export_account},
      Route{"POST", "/account/remove", Needs::Account, &S::remove_account},
      Route{"POST", "/account/ratings", Needs::Account, &S::rate},
      Route{"POST", "/account/ratings/remove", Needs::Account, &S::take_back_rating},
      Route{"POST", "/account/comments", Needs::Account, &S::add_comment},
      Route{"POST", "/account/comments/change", Needs::Account, &S::change_comment},
      Route{"POST", "/account/comments/remove", Needs::Account, &S::remove_comment},
      Route{"POST", "/account/comments/report", Needs::Account, &S::report_comment},
      Route{"POST", "/account/reports", Needs::Account, &S::report_package},
      Route{"GET", "/admin/reports", Needs::Moderator, &S::show_reports},
      Route{"POST", "/admin/reports/close", Needs::Moderator, &S::close_report},
      Route{"POST", "/admin/comments/hide", Needs::Moderator, &S::hide_comment},
      Route{"POST", "/admin/comments/show", Needs::Moderator, &S::show_comment},
      Route{"POST", "/admin/packages/hide", Needs::Moderator, &S::hide_package},
      Route{"POST", "/admin/packages/show", Needs::Moderator, &S::show_package},
      Route{"GET", "/admin/reviews", Needs::Moderator, &S::show_reviews},
      Route{"POST", "/admin/reviews/publish", Needs::Moderator, &S::publish_version},
      Route{"POST", "/admin/reviews/reject", Needs::Moderator, &S::reject_version},
      Route{"GET", "/admin", Needs::Administrator, &S::show_accounts},
      Route{"GET", "/admin/audit", Needs::Administrator, &S::show_audit},
      Route{"POST", "/admin/role", Needs::Administrator, &S::set_role},
      Route{"POST", "/admin/disable", Needs::Administrator, &S::disable},
      Route{"POST", "/admin/enable", Needs::Administrator, &S::enable},
  };
  return kRoutes;
}

AccountSite::AccountSite(Dependencies dependencies, Options options)
    : dependencies_(dependencies),
      options_(std::move(options)),
      origin_(origin_of(options_.url)),
      cookies_(options_.url),
      sign_in_({.accounts = dependencies_.accounts,
                .passwords = dependencies_.passwords,
                .clock = dependencies_.clock,
                .random = dependencies_.random}),
      admin_(dependencies_.accounts),
      writes_(dependencies_.clock, options_.writes_per_minute / 60,
              std::max(1.0, options_.writes_per_minute / 2)),
      registrations_(dependencies_.clock, kRegistrationsRate, kRegistrationsBurst),
      sign_ins_(dependencies_.clock, kSignInsRate, kSignInsBurst),
      passkey_tries_(dependencies_.clock, kPasskeysRate, kPasskeysBurst) {
  if (dependencies_.passkeys != nullptr)
    passkeys_.emplace(Passkeys::Dependencies{.passkeys = *dependencies_.passkeys,
                                             .accounts = dependencies_.accounts,
                                             .random = dependencies_.random},
                      RelyingParty::at(options_.url));
}

SignIn::From AccountSite::Ask::from() const {
  return {.agent = escape_controls(http::find_header(request.headers, "User-Agent")), .peer = peer};
}

FormState AccountSite::Ask::state(std::string problem) const {
  return {.token = form_token(cookie()),
          .problem = std::move(problem),
          .name = field(form, "name").substr(0, 63),
          .next = next_of(form.empty() ? query : form)};
}

Result<std::optional<Visitor>> AccountSite::visitor(const WebRequest& request) {
  MIST_TRY(std::optional<Visitor> found, session_of(request));
  if (found && found->session.awaits_code) found.reset();
  return found;
}

Result<std::optional<Visitor>> AccountSite::session_of(const WebRequest& request) {
  SecretString cookie = cookies_.find(request, CookieFor::Session);
  if (cookie.empty()) return std::optional<Visitor>();
  MIST_TRY(std::optional<Session> session, dependencies_.accounts.session(session_digest(cookie)));
  if (!session) return std::optional<Visitor>();
  return std::optional(Visitor{.session = *std::move(session), .cookie = std::move(cookie)});
}

bool AccountSite::has(const std::vector<std::string>& parts) const {
  const std::string path = "/" + join(parts, "/");
  return std::ranges::find(routes(), path, &Route::path) != routes().end();
}

Result<AccountSite::Ask> AccountSite::understood(const WebRequest& request, const std::string& peer) {
  Ask ask{.request = request, .peer = peer, .query = query_parts(request.query)};
  if (request.method == "POST") ask.form = query_parts(request.body);
  MIST_TRY(std::optional<Visitor> found, session_of(request));
  if (found) (found->session.awaits_code ? ask.waiting : ask.visitor) = std::move(found);
  ask.browser = cookies_.find(request, CookieFor::Browser);
  // A page gives one to the browser; a form without it is refused.
  if (ask.browser.empty() && request.method == "GET") ask.browser = new_cookie(dependencies_.random);
  ask.frame.url = options_.url;
  if (ask.visitor) ask.frame.account = ask.account().name;
  return ask;
}

Result<WebAnswer> AccountSite::answer(const WebRequest& request, const std::string& peer) {
  const std::string_view method = request.method == "HEAD" ? "GET" : std::string_view(request.method);
  const auto route = std::ranges::find_if(
      routes(), [&](const Route& each) { return each.method == method && each.path == request.path; });
  if (route == routes().end()) {
    WebAnswer answer = html(message_page({.url = options_.url}, "Not possible here",
                                         "This page is reached from another one.", request.path),
                            405);
    answer.headers.push_back({"Allow", method == "GET" ? "POST" : "GET"});
    return answer;
  }
  MIST_TRY(const Ask ask, understood(request, peer));
  Reply reply = [&]() -> Reply {
    if (route->needs >= Needs::Account && !ask.visitor && method == "GET")
      return see_other("/login?next=" + http::escape_query(request.path));
    if (route->needs == Needs::Password && !ask.waiting) return see_other("/login");
    MIST_TRY_VOID(check(ask, *route));
    if (method == "POST" && ask.visitor)
      if (const int seconds = writes_.wait_for(ask.account().name); seconds > 0)
        return wait_page(ask.frame, seconds);
    return (this->*route->handle)(ask);
  }();
  if (!reply.ok()) reply = refused(ask, reply.error());
  if (!reply.ok()) return reply;
  reply->headers.push_back({"Cache-Control", "no-store"});
  return reply;
}

// Whether the request may be answered at all.
Status AccountSite::check(const Ask& ask, const Route& route) {
  if (route.needs >= Needs::Account && !ask.visitor)
    return error(ErrorKind::Forbidden, "nobody is signed in").with_hint("sign in at /login");
  if (route.needs == Needs::Moderator && ask.account().role < Role::Moderator)
    return error(ErrorKind::Forbidden, "this is for moderators");
  if (route.needs == Needs::Administrator && ask.account().role < Role::Administrator)
    return error(ErrorKind::Forbidden, "this is for administrators");
  if (route.method == "GET") return {};
  return check_form(ask.request, origin_, ask.cookie(), field(ask.form, kFormField));
}

// Faults of the machine are the site's to tell; what somebody asked for in vain is a page here.
AccountSite::Reply AccountSite::refused(const Ask& ask, const Error& failure) const {
  const int status = status_of(failure);
  if (status >= 500 && (failure.kind != ErrorKind::Retryable || is_storage_fault(failure))) return failure;
  const std::string title = status == 404 ? "Not found" : "That didn't work";
  return html(message_page(ask.frame, title, problem_of(failure) + ".", ask.request.path), status);
}

// Signing in

WebAnswer AccountSite::with_browser(const Ask& ask, WebAnswer answer) const {
  if (!ask.visitor && !ask.waiting && !ask.browser.empty())
    answer.headers.push_back(cookies_.set(CookieFor::Browser, ask.browser, kUntilClosed));
  return answer;
}

WebAnswer AccountSite::login_answer(const Ask& ask, std::string problem, int status) const {
  return with_browser(
      ask,
      html(login_page(ask.frame, ask.state(std::move(problem)), options_.registration,
                      dependencies_.oidc == nullptr ? std::string() : dependencies_.oidc->issuer(), offer()),
           status));
}

WebAnswer AccountSite::registration_answer(const Ask& ask, std::string problem, int status) const {
  return with_browser(ask, html(register_page(ask.frame, ask.state(std::move(problem))), status));
}

WebAnswer AccountSite::signed_in(const std::string& next, const SecretString& cookie) const {
  WebAnswer answer = see_other(next.empty() ? "/account" : next);
  answer.headers.push_back(cookies_.set(CookieFor::Session, cookie, SessionTimes{}.longest));
  answer.headers.push_back(cookies_.remove(CookieFor::Browser));
  return answer;
}

AccountSite::Reply AccountSite::show_login(const Ask& ask) {
  if (ask.visitor) return see_other("/account");
  return login_answer(ask, {}, 200);
}

AccountSite::Reply AccountSite::log_in(const Ask& ask) {
  const std::string name = field(ask.form, "name");
  MIST_TRY(const int seconds, sign_in_.wait_for(name, ask.peer));
  if (seconds > 0) return wait_page(ask.frame, seconds);
  const auto begun = sign_in_.by_password(name, SecretString(field(ask.form, "password")), ask.from());
  if (!begun.ok() && status_of(begun.error()) == 403)
    return login_answer(ask, problem_of(begun.error()), 403);
  if (!begun.ok()) return begun.error();
  return begun_answer(ask, name, *begun, next_of(ask.form));
}

AccountSite::Reply AccountSite::begun_answer(const Ask& ask, const std::string& name,
                                             const SignIn::Begun& begun, const std::string& next) {
  // The browser's old session, if it had one, is of no use any more.
  if (ask.visitor || ask.waiting)
    MIST_TRY_VOID(dependencies_.accounts.end_session(session_digest(ask.cookie())));
  if (begun.awaits_code) {
    WebAnswer answer =
        see_other(next.empty() ? "/login/code" : "/login/code?next=" + http::escape_query(next));
    answer.headers.push_back(cookies_.set(CookieFor::Session, begun.cookie, kUntilClosed));
    return answer;
  }
  MIST_TRY_VOID(dependencies_.actions.audit({{.name = name}, ask.peer}, "sign in", name));
  return signed_in(next, begun.cookie);
}

// By an issuer

// The browser comes back with the state alone; the rest is kept here, for the browser that left.
Result<std::string> AccountSite::issuers_address(const Ask& ask, const std::string& account) {
  if (dependencies_.oidc == nullptr) return error(ErrorKind::NotFound, "accounts have no issuer here");
  const OidcQuestion question = new_oidc_question(dependencies_.random);
  MIST_TRY(std::string address, dependencies_.oidc->address(question));
  MIST_TRY_VOID(
      dependencies_.accounts.add_pending_sign_in({.state = session_digest(SecretString(question.state)),
                                                  .browser = session_digest(ask.cookie()),
                                                  .nonce = question.nonce,
                                                  .verifier = question.verifier,
                                                  .next = next_of(ask.query),
                                                  .account = account}));
  return address;
}

AccountSite::Reply AccountSite::leave_to_sign_in(const Ask& ask) {
  if (ask.visitor) return see_other("/account");
  if (const int seconds = sign_ins_.wait_for(client_of(ask.peer)); seconds > 0)
    return wait_page(ask.frame, seconds);
  MIST_TRY(const std::string address, issuers_address(ask, {}));
  return with_browser(ask, see_other(address));
}

// A form may not be answered with a redirect to another site (form-action), so the answer is a page that
// leads on.
AccountSite::Reply AccountSite::leave_to_link(const Ask& ask) {
  MIST_TRY(std::optional<WebAnswer> wait, prove_owner(ask, kCredentialField));
  if (wait) return *std::move(wait);
  MIST_TRY(const std::string address, issuers_address(ask, ask.account().name));
  WebAnswer answer = html(departure_page(ask.frame, address));
  answer.headers.push_back({"Refresh", "0; url=" + address});
  return answer;
}

AccountSite::Reply AccountSite::come_back(const Ask& ask) {
  if (dependencies_.oidc == nullptr) return error(ErrorKind::NotFound, "accounts have no issuer here");
  const std::string state = field(ask.query, "state");
  MIST_TRY(const std::optional<PendingSignIn> pending,
           dependencies_.accounts.take_pending_sign_in(session_digest(SecretString(state)),
                                                       session_digest(ask.cookie())));
  if (!pending)
    return error(ErrorKind::Forbidden, "this sign-in was not begun in this browser, or is over")
        .with_hint("begin again at /login");
  // RFC 9207: an answer of another issuer.
  if (const std::string issuer = field(ask.query, "iss");
      !issuer.empty() && issuer != dependencies_.oidc->issuer())
    return error(ErrorKind::Forbidden, "the answer is of another issuer");
  if (const std::string code = field(ask.query, "error"); !code.empty())
    return error(ErrorKind::Forbidden, "the issuer let nobody in: {}", escape_controls(code.substr(0, 100)));
  MIST_TRY(
      const Identity identity,
      dependencies_.oidc->identity({.state = state, .nonce = pending->nonce, .verifier = pending->verifier},
                                   field(ask.query, "code")));
  if (pending->account.empty()) {
    MIST_TRY(const std::string name, account_for(ask, identity));
    MIST_TRY(const SignIn::Begun begun, sign_in_.by_identity(name, ask.from()));
    return begun_answer(ask, name, begun, pending->next);
  }
  if (!ask.visitor || ask.account().name != pending->account)
    return error(ErrorKind::Forbidden, "{} is no longer signed in", pending->account);
  MIST_TRY_VOID(
      dependencies_.accounts.link_identity(pending->account, identity.issuer, identity.subject,
                                           entry_of(ask.actor(), kAuditLinkIdentity, identity.subject)));
  return see_other("/account");
}

// An account is found by issuer and subject alone. Names and addresses from the issuer prove nothing; a name
// is a proposal for a new account.
Result<std::string> AccountSite::account_for(const Ask& ask, const Identity& identity) {
  MIST_TRY(std::string known, dependencies_.accounts.account_of_identity(identity.issuer, identity.subject));
  if (!known.empty()) return known;
  if (options_.registration == Registration::Closed)
    return error(ErrorKind::Forbidden, "no account is linked to {}", escape_controls(identity.subject))
        .with_hint("sign in with a password and link it at /account, or ask those who run this catalog");
  if (const int seconds = registrations_.wait_for(client_of(ask.peer)); seconds > 0)
    return error(ErrorKind::Retryable, "too many new accounts")
        .with_hint(fmt::format("try again in {} seconds", seconds));
  const std::string base = proposed_name(identity.name);
  for (int number = 1; number <= kMostNames; ++number) {
    std::string name = number == 1 ? base : fmt::format("{}-{}", base, number);
    const Status made = dependencies_.accounts.add_identified(
        name, identity.issuer, identity.subject, entry_of({{.name = name}, ask.peer}, "register", name));
    if (!made.ok() && made.error().kind == ErrorKind::Conflict) {
      // The same browser may sign in twice at once.
      MIST_TRY(known, dependencies_.accounts.account_of_identity(identity.issuer, identity.subject));
      if (!known.empty()) return known;
      continue;
    }
    if (!made.ok()) return made.error();
    return name;
  }
  return error(ErrorKind::Conflict, "the name {} is taken", base);
}

AccountSite::Reply AccountSite::unlink_identity(const Ask& ask) {
  const std::string& name = ask.account().name;
  const std::string subject = field(ask.form, "subject");
  MIST_TRY_VOID(dependencies_.accounts.unlink_identity(name, field(ask.form, "issuer"), subject,
                                                       entry_of(ask.actor(), kAuditUnlinkIdentity, subject)));
  MIST_TRY(const SecretString cookie, sign_in_.begin(name, ask.from()));
  return signed_in({}, cookie);
}

AccountSite::Reply AccountSite::log_out(const Ask& ask) {
  MIST_TRY_VOID(dependencies_.accounts.end_session(session_digest(ask.visitor->cookie)));
  WebAnswer answer = see_other("/");
  answer.headers.push_back(cookies_.remove(CookieFor::Session));
  return answer;
}

AccountSite::Reply AccountSite::show_registration(const Ask& ask) {
  if (options_.registration == Registration::Closed)
    return error(ErrorKind::NotFound, "accounts are made by those who run this catalog");
  return registration_answer(ask, {}, 200);
}

AccountSite::Reply AccountSite::add_account(const Ask& ask) {
  if (options_.registration == Registration::Closed)
    return error(ErrorKind::NotFound, "accounts are made by those who run this catalog");
  if (const int seconds = registrations_.wait_for(client_of(ask.peer)); seconds > 0)
    return wait_page(ask.frame, seconds);
  const std::string name = field(ask.form, "name");
  const auto cookie = sign_in_.add_account(name, SecretString(field(ask.form, "password")), ask.from(),
                                           entry_of({{.name = name}, ask.peer}, "register", name));
  if (!cookie.ok() && status_of(cookie.error()) < 500)
    return registration_answer(ask, problem_of(cookie.error()), status_of(cookie.error()));
  if (!cookie.ok()) return cookie.error();
  return signed_in(next_of(ask.form), *cookie);
}

// The account's own page

AccountSite::Reply AccountSite::show_account(const Ask& ask) {
  MIST_TRY(const std::optional<AccountDetails> details, dependencies_.accounts.find(ask.account().name));
  if (!details) return no_such("account", ask.account().name);
  MIST_TRY(std::vector<Session> sessions, dependencies_.accounts.sessions(ask.account().name));
  MIST_TRY(Slice<Project> projects,
           dependencies_.store.projects(ask.account().name, {.after = {}, .limit = kMostProjects}));
  MIST_TRY(std::vector<TokenFacts> tokens, dependencies_.accounts.tokens(ask.account().name));
  MIST_TRY(auto identities, dependencies_.accounts.identities(ask.account().name));
  MIST_TRY(std::vector<OwnDomain> domains, dependencies_.accounts.domains(ask.account().name));
  MIST_TRY(std::vector<DomainClaim> claims, dependencies_.accounts.domain_claims(ask.account().name));
  std::vector<Passkey> passkeys;
  if (passkeys_) {
    MIST_TRY(passkeys, passkeys_->of(ask.account().name));
  }
  std::int64_t reports = 0;
  std::int64_t reviews = 0;
  if (ask.account().role >= Role::Moderator) {
    MIST_TRY(reports, dependencies_.feedback.count_reports());
    MIST_TRY(reviews, dependencies_.store.count_reviews());
  }
  MIST_TRY(Slice<ReviewedVersion> unpublished,
           dependencies_.store.reviews(ask.account().name, {.after = {}, .limit = kMostUnpublished}));
  return html(
      account_page(ask.frame, ask.state(),
                   {.details = *details,
                    .session = ask.visitor->session.id,
                    .sessions = std::move(sessions),
                    .projects = std::move(projects.items),
                    .tokens = std::move(tokens),
                    .identities = std::move(identities),
                    .issuer = dependencies_.oidc == nullptr ? std::string() : dependencies_.oidc->issuer(),
                    .reports = reports,
                    .reviews = reviews,
                    .unpublished = std::move(unpublished.items),
                    .domains = std::move(domains),
                    .claims = std::move(claims),
                    .passkeys = std::move(passkeys),
                    .offer = offer()}));
}

AccountSite::Reply AccountSite::change_password(const Ask& ask) {
  const std::string& name = ask.account().name;
  MIST_TRY(const int seconds, sign_in_.wait_for_proof(name, ask.peer));
  if (seconds > 0) return wait_page(ask.frame, seconds);
  const SecretString password(field(ask.form, "password"));
  MIST_TRY_VOID(sign_in_.check_password(name, SecretString(field(ask.form, "old"))));
  // Before the code, which is used up.
  MIST_TRY_VOID(check_new_password(password, name));
  MIST_TRY_VOID(prove_second_factor(ask, kCredentialField));
  MIST_TRY(
      const SecretString cookie,
      sign_in_.change_password(name, password, ask.from(), entry_of(ask.actor(), "change password", name)));
  return signed_in(next_of(ask.form), cookie);
}

AccountSite::Reply AccountSite::end_sessions(const Ask& ask) {
  MIST_TRY_VOID(
      dependencies_.accounts.end_other_sessions(ask.account().name, session_digest(ask.visitor->cookie),
                                                entry_of(ask.actor(), "end sessions", ask.account().name)));
  return see_other("/account");
}

AccountSite::Reply AccountSite::make_token(const Ask& ask) {
  TokenActions::Wish wish{.label = field(ask.form, "label")};
  const auto [first, last] = ask.form.equal_range("scope");
  for (auto each = first; each != last; ++each) {
    MIST_TRY(const Scopes scope, Scopes::parse(each->second));
    wish.scopes.add(scope);
  }
  MIST_TRY(const int days, number_of(field(ask.form, "days"), kMostTokenDays));
  if (days > 0) wish.expires = dependencies_.clock.now() + std::chrono::days(days);
  MIST_TRY(const SecretString token,
           dependencies_.tokens.make(ask.actor(), {.scopes = scopes_of(ask.account().role)}, wish));
  return html(token_page(ask.frame, token));
}

AccountSite::Reply AccountSite::revoke_token(const Ask& ask) {
  MIST_TRY(const int id, number_of(field(ask.form, "id"), std::numeric_limits<int>::max()));
  MIST_TRY_VOID(dependencies_.tokens.revoke(ask.actor(), id));
  return see_other("/account");
}

AccountSite::Reply AccountSite::link_project(const Ask& ask) {
  MIST_TRY(const Project made, dependencies_.actions.link(ask.actor(), {.name = field(ask.form, "name"),
                                                                        .url = field(ask.form, "url"),
                                                                        .path = field(ask.form, "path")}));
  return html(linked_page(ask.frame, made));
}

AccountSite::Reply AccountSite::unlink_project(const Ask& ask) {
  MIST_TRY_VOID(dependencies_.actions.unlink(ask.actor(), field(ask.form, "name")));
  return see_other("/account");
}

AccountSite::Reply AccountSite::poll_project(const Ask& ask) {
  MIST_TRY_VOID(dependencies_.actions.poll(ask.actor(), field(ask.form, "name")));
  return see_other("/account");
}

AccountSite::Reply AccountSite::test_version(const Ask& ask) {
  MIST_TRY_VOID(
      dependencies_.actions.test_again(ask.actor(), field(ask.form, "package"), field(ask.form, "version")));
  return see_other(version_page(ask.form));
}

AccountSite::Reply AccountSite::yank_version(const Ask& ask) {
  MIST_TRY_VOID(dependencies_.actions.yank(ask.actor(), field(ask.form, "package"),
                                           field(ask.form, "version"), field(ask.form, "reason")));
  return see_other(version_page(ask.form));
}

AccountSite::Reply AccountSite::unyank_version(const Ask& ask) {
  MIST_TRY_VOID(dependencies_.actions.yank(ask.actor(), field(ask.form, "package"),
                                           field(ask.form, "version"), std::nullopt));
  return see_other(version_page(ask.form));
}

AccountSite::Reply AccountSite::prove_domain(const Ask& ask) {
  if (const int seconds = dependencies_.domains.wait_for(ask.actor()); seconds > 0)
    return wait_page(ask.frame, seconds);
  const auto claimed = dependencies_.domains.claim(ask.actor(), field(ask.form, "domain"));
  if (!claimed.ok()) return claimed.error();
  return see_other("/account#domains");
}

AccountSite::Reply AccountSite::remove_domain(const Ask& ask) {
  MIST_TRY_VOID(dependencies_.domains.remove(ask.actor(), field(ask.form, "domain")));
  return see_other("/account#domains");
}

AccountSite::Reply AccountSite::export_account(const Ask& ask) {
  MIST_TRY(const encoding::Value data, account_data({.store = dependencies_.store,
                                                     .accounts = dependencies_.accounts,
                                                     .feedback = dependencies_.feedback,
                                                     .passkeys = dependencies_.passkeys},
                                                    ask.account().name));
  WebAnswer answer = json(data);
  answer.headers.push_back(
      {"Content-Disposition", fmt::format("attachment; filename=\"{}.json\"", ask.account().name)});
  return answer;
}

AccountSite::Reply AccountSite::remove_account(const Ask& ask) {
  const std::string& name = ask.account().name;
  if (field(ask.form, "name") != name)
    return error(ErrorKind::Invalid, "type the name of your account to delete it");
  MIST_TRY(std::optional<WebAnswer> wait, prove_owner(ask, kCredentialField));
  if (wait) return *std::move(wait);
  MIST_TRY_VOID(dependencies_.accounts.remove(name, entry_of({ask.account(), ""}, "delete account", name)));
  WebAnswer answer = see_other("/");
  answer.headers.push_back(cookies_.remove(CookieFor::Session));
  return answer;
}

// Of administrators

AccountSite::Reply AccountSite::show_accounts(const Ask& ask) {
  MIST_TRY(const Slice<AccountDetails> accounts,
           dependencies_.accounts.list({.after = field(ask.query, "after"), .limit = kMostAccounts}));
  return html(admin_page(ask.frame, ask.state(), accounts));
}

AccountSite::Reply AccountSite::show_audit(const Ask& ask) {
  const AuditFilter filter{.who = field(ask.query, "who"),
                           .what = field(ask.query, "what"),
                           .subject = field(ask.query, "subject")};
  MIST_TRY(
      const Slice<AuditEntry> entries,
      dependencies_.store.audit_log(filter, {.after = field(ask.query, "after"), .limit = kMostEntries}));
  return html(audit_page(ask.frame, filter, entries));
}

AccountSite::Reply AccountSite::set_role(const Ask& ask) {
  const std::string text = field(ask.form, "role");
  const std::optional<Role> role = role_of(text);
  if (!role) return error(ErrorKind::Invalid, "there is no role {}", escape_controls(text));
  MIST_TRY_VOID(admin_.set_role(ask.actor(), field(ask.form, "name"), *role));
  return see_other("/admin");
}

AccountSite::Reply AccountSite::disable(const Ask& ask) {
  MIST_TRY_VOID(admin_.set_disabled(ask.actor(), field(ask.form, "name"), true));
  return see_other("/admin");
}

AccountSite::Reply AccountSite::enable(const Ask& ask) {
  MIST_TRY_VOID(admin_.set_disabled(ask.actor(), field(ask.form, "name"), false));
  return see_other("/admin");
}

}  // namespace mist::catalog
