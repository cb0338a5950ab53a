// The answers of account_site.h about what is asked for beside a password: codes of an authenticator,
// recovery codes, passkeys.

#include "base/text.h"
#include "catalog/account_site.h"
#include "catalog/passkey_pages.h"
#include "catalog/totp.h"

namespace mist::catalog {

using http::WebAnswer;

AccountSite::Reply AccountSite::code_answer(const Ask& ask, std::string problem, int status) {
  const std::string& name = ask.waiting->session.account.name;
  MIST_TRY(const std::optional<AccountDetails> details, dependencies_.accounts.find(name));
  if (!details) return no_such("account", name);
  return html(code_page(ask.frame, ask.state(std::move(problem)), *details, offer()), status);
}

AccountSite::Reply AccountSite::show_code(const Ask& ask) { return code_answer(ask, {}, 200); }

AccountSite::Reply AccountSite::take_code(const Ask& ask) {
  const std::string name = ask.waiting->session.account.name;
  const std::string credential = field(ask.form, kCredentialField);
  const bool by_passkey = !credential.empty();
  if (by_passkey) {
    if (const int seconds = passkey_tries_.wait_for(client_of(ask.peer)); seconds > 0)
      return wait_page(ask.frame, seconds);
    MIST_TRY(Passkeys* const known, passkeys());
    const Status confirmed = known->confirm(name, ask.cookie(), credential);
    if (!confirmed.ok()) note_copy(ask, confirmed.error());
    if (!confirmed.ok() && status_of(confirmed.error()) < 500)
      return code_answer(ask, problem_of(confirmed.error()), status_of(confirmed.error()));
    if (!confirmed.ok()) return confirmed.error();
  } else {
    MIST_TRY(const int seconds, sign_in_.wait_for_code(name));
    if (seconds > 0) return wait_page(ask.frame, seconds);
  }
  const Visitor& waiting = *ask.waiting;
  const auto cookie =
      by_passkey ? sign_in_.confirmed(waiting.session, waiting.cookie, ask.from())
                 : sign_in_.by_code(waiting.session, waiting.cookie, field(ask.form, "code"), ask.from());
  if (!cookie.ok() && status_of(cookie.error()) == 403)
    return code_answer(ask, problem_of(cookie.error()), 403);
  if (!cookie.ok()) return cookie.error();
  MIST_TRY_VOID(dependencies_.actions.audit({{.name = name}, ask.peer}, "sign in", name));
  return signed_in(next_of(ask.form), *cookie);
}

// The secret of the authenticator is made here, and counts only once its first code came back.
AccountSite::Reply AccountSite::begin_second_factor(const Ask& ask) {
  MIST_TRY(std::optional<WebAnswer> wait, prove_owner(ask, kCredentialField));
  if (wait) return *std::move(wait);
  const std::string secret = new_totp_secret(dependencies_.random);
  MIST_TRY_VOID(dependencies_.accounts.begin_second_factor(ask.account().name, secret));
  return html(second_factor_page(ask.frame, ask.state(), secret, ask.account().name));
}

AccountSite::Reply AccountSite::confirm_second_factor(const Ask& ask) {
  const std::string& name = ask.account().name;
  MIST_TRY(const int seconds, sign_in_.wait_for_code(name));
  if (seconds > 0) return wait_page(ask.frame, seconds);
  MIST_TRY(const std::optional<SecondFactor> factor, dependencies_.accounts.second_factor(name));
  if (!factor || factor->confirmed) return see_other("/account");
  const auto step = step_of_code(factor->secret, field(ask.form, "code"), dependencies_.clock.now());
  // The secret is shown again only to somebody who has it: others may have the session.
  if (!step && field(ask.form, kSecretField) != base32(factor->secret))
    return error(ErrorKind::Forbidden, "the code is wrong").with_hint("begin again at /account");
  if (!step)
    return html(second_factor_page(ask.frame, ask.state("The code is wrong"), factor->secret, name), 403);
  const std::vector<SecretString> codes = new_recovery_codes(dependencies_.random);
  std::vector<std::string> digests;
  for (const SecretString& each : codes) digests.push_back(recovery_digest(each.reveal()));
  MIST_TRY_VOID(dependencies_.accounts.confirm_second_factor(
      name, *step, digests, entry_of(ask.actor(), "add authenticator", name)));
  return recovery_codes_answer(ask, codes);
}

AccountSite::Reply AccountSite::remove_second_factor(const Ask& ask) {
  const std::string& name = ask.account().name;
  MIST_TRY(const int seconds, sign_in_.wait_for_code(name));
  if (seconds > 0) return wait_page(ask.frame, seconds);
  MIST_TRY_VOID(sign_in_.check_code(name, field(ask.form, "code")));
  MIST_TRY_VOID(
      dependencies_.accounts.end_second_factor(name, entry_of(ask.actor(), "remove authenticator", name)));
  MIST_TRY(const SecretString cookie, sign_in_.begin(name, ask.from()));
  return signed_in(next_of(ask.form), cookie);
}

// The sessions ended: this browser gets another one. Without it, somebody signs in again; the codes are shown
// now, and never again.
AccountSite::Reply AccountSite::recovery_codes_answer(const Ask& ask,
                                                      const std::vector<SecretString>& codes) {
  const auto cookie = sign_in_.begin(ask.account().name, ask.from());
  WebAnswer answer = html(recovery_codes_page(ask.frame, codes));
  if (cookie.ok())
    answer.headers.push_back(cookies_.set(CookieFor::Session, *cookie, SessionTimes{}.longest));
  return answer;
}

// Passkeys

Result<Passkeys*> AccountSite::passkeys() {
  if (!passkeys_) return error(ErrorKind::NotFound, "accounts have no passkeys here");
  return &*passkeys_;
}

PasskeyOffer AccountSite::offer() const {
  return passkeys_ && passkeys_->can_ask() ? PasskeyOffer::Yes : PasskeyOffer::No;
}

void AccountSite::note_copy(const Ask& ask, const Error& failure) {
  const CopiedPasskey* const copied = failure.detail<CopiedPasskey>();
  if (copied == nullptr) return;
  // The refusal is what counts: a log that can't be written doesn't change it.
  (void)dependencies_.actions.audit({{.name = copied->account}, ask.peer}, "refuse passkey", copied->account);
}

AccountSite::Reply AccountSite::ask_for_passkey(const Ask& ask) {
  if (const int seconds = passkey_tries_.wait_for(client_of(ask.peer)); seconds > 0)
    return too_often(seconds);
  MIST_TRY(Passkeys* const known, passkeys());
  MIST_TRY(const encoding::Value question, known->ask_who(ask.cookie()));
  return json(question);
}

AccountSite::Reply AccountSite::sign_in_by_passkey(const Ask& ask) {
  if (const int seconds = passkey_tries_.wait_for(client_of(ask.peer)); seconds > 0)
    return wait_page(ask.frame, seconds);
  MIST_TRY(Passkeys* const known, passkeys());
  const auto name = known->who(ask.cookie(), field(ask.form, kCredentialField));
  if (!name.ok()) note_copy(ask, name.error());
  if (!name.ok() && status_of(name.error()) < 500)
    return login_answer(ask, problem_of(name.error()), status_of(name.error()));
  if (!name.ok()) return name.error();
  // The browser's old session, if it had one, is of no use any more.
  if (ask.visitor || ask.waiting)
    MIST_TRY_VOID(dependencies_.accounts.end_session(session_digest(ask.cookie())));
  MIST_TRY(const SecretString cookie, sign_in_.begin(*name, ask.from()));
  MIST_TRY_VOID(dependencies_.actions.audit({{.name = *name}, ask.peer}, "sign in by passkey", *name));
  return signed_in(next_of(ask.form), cookie);
}

// Of an account that is known: after its password, or before something that can't be undone.
AccountSite::Reply AccountSite::ask_to_confirm(const Ask& ask) {
  if (const int seconds = passkey_tries_.wait_for(client_of(ask.peer)); seconds > 0)
    return too_often(seconds);
  MIST_TRY(Passkeys* const known, passkeys());
  const Visitor& asked = ask.visitor ? *ask.visitor : *ask.waiting;
  MIST_TRY(const encoding::Value question, known->ask_to_confirm(asked.session.account.name, ask.cookie()));
  return json(question);
}

AccountSite::Reply AccountSite::ask_to_register(const Ask& ask) {
  MIST_TRY(Passkeys* const known, passkeys());
  MIST_TRY(const encoding::Value question, known->ask_to_register(ask.account().name, ask.cookie()));
  return json(question);
}

// Somebody who only found an open browser can't do it.
AccountSite::Reply AccountSite::add_passkey(const Ask& ask) {
  const std::string& name = ask.account().name;
  MIST_TRY(Passkeys* const known, passkeys());
  // Before the code, which is used up.
  MIST_TRY(const NewPasskey passkey,
           known->registered(name, ask.cookie(), field(ask.form, kCredentialField), field(ask.form, "name")));
  MIST_TRY(std::optional<WebAnswer> wait, prove_owner(ask, kProofField));
  if (wait) return *std::move(wait);
  MIST_TRY(const std::vector<SecretString> codes,
           known->add(name, passkey, entry_of(ask.actor(), "add passkey", name)));
  if (!codes.empty()) return recovery_codes_answer(ask, codes);
  MIST_TRY(const SecretString cookie, sign_in_.begin(name, ask.from()));
  return signed_in("/account#passkeys", cookie);
}

AccountSite::Reply AccountSite::remove_passkey(const Ask& ask) {
  const std::string& name = ask.account().name;
  MIST_TRY(Passkeys* const known, passkeys());
  MIST_TRY_VOID(prove_second_factor(ask, kCredentialField));
  MIST_TRY_VOID(
      known->remove(name, id_of(field(ask.form, "id")), entry_of(ask.actor(), "remove passkey", name)));
  MIST_TRY(const SecretString cookie, sign_in_.begin(name, ask.from()));
  return signed_in("/account#passkeys", cookie);
}

Result<std::optional<WebAnswer>> AccountSite::prove_owner(const Ask& ask, std::string_view by) {
  const std::string& name = ask.account().name;
  MIST_TRY(const int seconds, sign_in_.wait_for_proof(name, ask.peer));
  if (seconds > 0) return std::optional(wait_page(ask.frame, seconds));
  MIST_TRY_VOID(sign_in_.check_password(name, SecretString(field(ask.form, "password"))));
  MIST_TRY_VOID(prove_second_factor(ask, by));
  return std::optional<WebAnswer>();
}

Status AccountSite::prove_second_factor(const Ask& ask, std::string_view by) {
  const std::string& name = ask.account().name;
  if (const std::string credential = field(ask.form, by); !credential.empty()) {
    MIST_TRY(Passkeys* const known, passkeys());
    Status confirmed = known->confirm(name, ask.cookie(), credential);
    if (!confirmed.ok()) note_copy(ask, confirmed.error());
    return confirmed;
  }
  MIST_TRY(const std::optional<AccountDetails> details, dependencies_.accounts.find(name));
  if (!details || !details->awaits_more()) return {};
  MIST_TRY(const int seconds, sign_in_.wait_for_code(name));
  if (seconds > 0)
    return error(ErrorKind::Forbidden, "too many codes were tried").with_hint("wait for five minutes");
  return sign_in_.check_code(name, field(ask.form, "code"));
}

}  // namespace mist::catalog
