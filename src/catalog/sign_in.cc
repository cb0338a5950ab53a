#include "catalog/sign_in.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/text.h"
#include "catalog/session.h"
#include "catalog/totp.h"

namespace mist::catalog {
namespace {

// A client guesses at no more than 8640 passwords a day, and an account is guessed at no more than 2880
// times.
constexpr double kClientsRate = 1.0 / 10;
constexpr double kClientsBurst = 20;
constexpr Duration kAccountsPeriod = std::chrono::seconds(30);
constexpr int kAccountsBurst = 10;
// Of a million codes three are good at a time: 288 tries a day hit one in some years.
constexpr Duration kCodesPeriod = std::chrono::minutes(5);
constexpr int kCodesBurst = 5;
constexpr std::size_t kLongestAgent = 200;

Error refused() { return error(ErrorKind::Forbidden, "the name or the password is wrong"); }

}  // namespace

std::string client_of(std::string_view peer) {
  std::array<unsigned char, 16> address{};
  if (::inet_pton(AF_INET6, std::string(peer).c_str(), address.data()) != 1) return std::string(peer);
  // Where the catalog listens for both, an IPv4 address is written as ::ffff:192.0.2.1.
  constexpr std::array<unsigned char, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (std::ranges::equal(kMapped, std::span(address).first(kMapped.size())))
    return fmt::format("{}.{}.{}.{}", address[12], address[13], address[14], address[15]);
  return hex(std::as_bytes(std::span(address).first(8)));
}

SignIn::SignIn(Dependencies dependencies)
    : dependencies_(dependencies), clients_(dependencies.clock, kClientsRate, kClientsBurst) {}

Result<int> SignIn::wait_for(const std::string& name, std::string_view peer) {
  if (const int seconds = clients_.wait_for(client_of(peer)); seconds > 0) return seconds;
  // A text that can't be a name gets no limit of its own, so that such texts don't fill the database.
  if (!is_dns1123_label(name)) return 0;
  return dependencies_.accounts.wait_for("password of " + name, kAccountsPeriod, kAccountsBurst);
}

Result<int> SignIn::wait_for_proof(const std::string& name, std::string_view peer) {
  if (const int seconds = clients_.wait_for(client_of(peer)); seconds > 0) return seconds;
  return dependencies_.accounts.wait_for("proof of " + name, kAccountsPeriod, kAccountsBurst);
}

Result<int> SignIn::wait_for_code(const std::string& name) {
  return dependencies_.accounts.wait_for("code of " + name, kCodesPeriod, kCodesBurst);
}

Result<SignIn::Begun> SignIn::by_password(const std::string& name, const SecretString& password,
                                          const From& from) {
  MIST_TRY(const std::string stored, dependencies_.accounts.password_of(name));
  MIST_TRY(const bool right, dependencies_.passwords.matches(password, stored));
  if (!right) return refused();
  if (dependencies_.passwords.is_old(stored)) {
    MIST_TRY(const std::string hash, dependencies_.passwords.hash(password));
    MIST_TRY_VOID(dependencies_.accounts.rehash_password(name, stored, hash));
  }
  return by_identity(name, from);
}

Result<SignIn::Begun> SignIn::by_identity(const std::string& name, const From& from) {
  MIST_TRY(const std::optional<AccountDetails> details, dependencies_.accounts.find(name));
  const bool awaits_code = details && details->awaits_more();
  MIST_TRY(SecretString cookie, add_session(name, awaits_code, from));
  return Begun{.cookie = std::move(cookie), .awaits_code = awaits_code};
}

Result<SecretString> SignIn::by_code(const Session& waiting, const SecretString& cookie,
                                     const std::string& code, const From& from) {
  MIST_TRY_VOID(check_code(waiting.account.name, code));
  return confirmed(waiting, cookie, from);
}

Result<SecretString> SignIn::confirmed(const Session& waiting, const SecretString& cookie, const From& from) {
  MIST_TRY_VOID(dependencies_.accounts.end_session(session_digest(cookie)));
  return begin(waiting.account.name, from);
}

Status SignIn::check_code(const std::string& name, const std::string& code) {
  MIST_TRY(const std::optional<SecondFactor> factor, dependencies_.accounts.second_factor(name));
  bool good = false;
  if (const auto step = factor && factor->confirmed
                            ? step_of_code(factor->secret, code, dependencies_.clock.now())
                            : std::nullopt) {
    MIST_TRY(good, dependencies_.accounts.use_code(name, *step));
  } else {
    MIST_TRY(good, dependencies_.accounts.use_recovery_code(name, recovery_digest(code)));
  }
  if (!good) return error(ErrorKind::Forbidden, "the code is wrong, or was used already");
  return {};
}

Status SignIn::check_password(const std::string& name, const SecretString& password) {
  MIST_TRY(const std::string stored, dependencies_.accounts.password_of(name));
  // An account that an issuer lets in may have none.
  if (stored.empty()) return {};
  MIST_TRY(const bool right, dependencies_.passwords.matches(password, stored));
  if (!right) return error(ErrorKind::Forbidden, "that isn't the password that you have now");
  return {};
}

Result<SecretString> SignIn::begin(const std::string& name, const From& from) {
  return add_session(name, false, from);
}

Result<SecretString> SignIn::add_session(const std::string& name, bool awaits_code, const From& from) {
  SecretString cookie = new_cookie(dependencies_.random);
  MIST_TRY_VOID(dependencies_.accounts.add_session({.account = name,
                                                    .digest = session_digest(cookie),
                                                    .agent = from.agent.substr(0, kLongestAgent),
                                                    .peer = from.peer,
                                                    .awaits_code = awaits_code}));
  return cookie;
}

Result<SecretString> SignIn::add_account(const std::string& name, const SecretString& password,
                                         const From& from, const Audit& audit) {
  MIST_TRY_VOID(check_new_password(password, name));
  MIST_TRY(const std::string hash, dependencies_.passwords.hash(password));
  MIST_TRY_VOID(dependencies_.accounts.add(name, Role::Author, hash, audit));
  return begin(name, from);
}

Result<SecretString> SignIn::change_password(const std::string& name, const SecretString& password,
                                             const From& from, const Audit& audit) {
  MIST_TRY_VOID(check_new_password(password, name));
  MIST_TRY(const std::string hash, dependencies_.passwords.hash(password));
  MIST_TRY_VOID(dependencies_.accounts.set_password(name, hash, audit));
  return begin(name, from);
}

}  // namespace mist::catalog
