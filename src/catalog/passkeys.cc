#include "catalog/passkeys.h"

#include <algorithm>
#include <span>

#include "base/text.h"
#include "catalog/session.h"
#include "catalog/totp.h"
#include "crypto/digest.h"
#include "http/url.h"
#include "webauthn/ceremony.h"
#include "webauthn/credential_json.h"

namespace mist::catalog {
namespace {

constexpr std::size_t kChallengeBytes = 32;
constexpr std::size_t kLongestPasskeyName = 64;

std::vector<webauthn::Descriptor> descriptors_of(const std::vector<Passkey>& passkeys) {
  std::vector<webauthn::Descriptor> list;
  for (const Passkey& each : passkeys)
    list.push_back({.id = each.facts.credential, .transports = each.facts.transports});
  return list;
}

Result<std::string> checked_passkey_name(std::string_view text) {
  const std::string_view name = trim(text);
  if (name.empty()) return error(ErrorKind::Invalid, "the passkey needs a name");
  if (name.size() > kLongestPasskeyName || !is_valid_utf8(name) || escape_controls(name) != name)
    return error(ErrorKind::Invalid, "this can't be the name of a passkey")
        .with_hint(fmt::format("at most {} bytes of plain text", kLongestPasskeyName));
  return std::string(name);
}

Error unknown_passkey() {
  return error(ErrorKind::Forbidden, "this passkey lets nobody in here")
      .with_hint("sign in with your password; a passkey that was removed here can be deleted on your device");
}

}  // namespace

std::optional<RelyingParty> RelyingParty::at(std::string_view url) {
  const auto parsed = http::Url::parse(url);
  if (!parsed.ok()) return std::nullopt;
  const std::string host = lower_case(parsed->host);
  const bool is_local = host == "localhost" || host.ends_with(".localhost");
  // A name of the DNS doesn't end in a number (RFC 3696, section 2): that is an IPv4 address.
  const std::string_view last = std::string_view(host).substr(host.rfind('.') + 1);
  const bool is_address =
      !is_dns1123_subdomain(host) || std::ranges::all_of(last, [](char c) { return c >= '0' && c <= '9'; });
  if (is_address || (parsed->scheme != "https" && !is_local)) return std::nullopt;
  return RelyingParty{.id = host, .origin = parsed->origin()};
}

Result<RelyingParty> Passkeys::party() const {
  if (!party_)
    return error(ErrorKind::NotFound, "there are no passkeys at this address")
        .with_hint("they need https and a name: see --url of mistletoe-catalog serve");
  return *party_;
}

Result<std::string> Passkeys::new_challenge(ChallengeFor purpose, const SecretString& cookie) {
  std::string bytes(kChallengeBytes, '\0');
  dependencies_.random.fill(std::as_writable_bytes(std::span(bytes)));
  MIST_TRY_VOID(dependencies_.passkeys.begin_challenge(
      {.digest = crypto::sha256(bytes).str(), .holder = session_digest(cookie), .purpose = purpose}));
  return bytes;
}

Result<std::string> Passkeys::taken_challenge(ChallengeFor purpose, const SecretString& cookie,
                                              std::string_view client_data) {
  MIST_TRY(std::string challenge, webauthn::challenge_of(client_data));
  MIST_TRY(const bool good, dependencies_.passkeys.end_challenge({.digest = crypto::sha256(challenge).str(),
                                                                  .holder = session_digest(cookie),
                                                                  .purpose = purpose}));
  if (!good)
    return error(ErrorKind::Forbidden, "the passkey's answer came too late, or not from this browser")
        .with_hint("try it once more");
  return challenge;
}

Result<encoding::Value> Passkeys::ask_to_register(const std::string& account, const SecretString& cookie) {
  MIST_TRY(const RelyingParty here, party());
  MIST_TRY(const std::vector<Passkey> known, dependencies_.passkeys.passkeys(account));
  MIST_TRY(const std::string handle, dependencies_.passkeys.handle(account));
  MIST_TRY(const std::string challenge, new_challenge(ChallengeFor::Registration, cookie));
  return webauthn::creation_options(here.id, "Mistletoe catalog at " + here.id,
                                    {.handle = handle, .name = account}, challenge, descriptors_of(known),
                                    PasskeyStore::kChallengeTime);
}

Result<encoding::Value> Passkeys::ask_who(const SecretString& cookie) {
  MIST_TRY(const RelyingParty here, party());
  MIST_TRY(const std::string challenge, new_challenge(ChallengeFor::SignIn, cookie));
  return webauthn::request_options(here.id, challenge, {}, webauthn::Verification::Required,
                                   PasskeyStore::kChallengeTime);
}

Result<encoding::Value> Passkeys::ask_to_confirm(const std::string& account, const SecretString& cookie) {
  MIST_TRY(const RelyingParty here, party());
  MIST_TRY(const std::vector<Passkey> known, dependencies_.passkeys.passkeys(account));
  if (known.empty()) return error(ErrorKind::NotFound, "{} has no passkey", account);
  MIST_TRY(const std::string challenge, new_challenge(ChallengeFor::Confirm, cookie));
  return webauthn::request_options(here.id, challenge, descriptors_of(known),
                                   webauthn::Verification::Preferred, PasskeyStore::kChallengeTime);
}

Result<NewPasskey> Passkeys::registered(const std::string& account, const SecretString& cookie,
                                        std::string_view answer, std::string_view name) {
  MIST_TRY(const RelyingParty here, party());
  MIST_TRY(std::string label, checked_passkey_name(name));
  MIST_TRY(const std::vector<Passkey> others, dependencies_.passkeys.passkeys(account));
  if (others.size() >= PasskeyStore::kMostPasskeys) return PasskeyStore::too_many();
  MIST_TRY(webauthn::Registration given, webauthn::parse_registration(answer));
  MIST_TRY(std::string challenge, taken_challenge(ChallengeFor::Registration, cookie, given.client_data));
  MIST_TRY(const webauthn::NewCredential made,
           webauthn::check_registration(given.client_data, given.attestation_object,
                                        {.rp_id = here.id,
                                         .origin = here.origin,
                                         .challenge = std::move(challenge),
                                         .verification = webauthn::Verification::Preferred}));
  MIST_TRY(const std::optional<PasskeyOwner> owner, dependencies_.passkeys.find(made.id));
  if (owner) return PasskeyStore::known_already();
  return NewPasskey{.credential = made.id,
                    .key = made.key.pem(),
                    .name = std::move(label),
                    .transports = std::move(given.transports),
                    .counter = made.counter,
                    .backup_eligible = made.backup_eligible};
}

Result<std::vector<SecretString>> Passkeys::add(const std::string& account, const NewPasskey& passkey,
                                                const Audit& audit) {
  MIST_TRY(const std::optional<AccountDetails> details, dependencies_.accounts.find(account));
  std::vector<SecretString> codes;
  if (details && !details->awaits_more()) codes = new_recovery_codes(dependencies_.random);
  std::vector<std::string> digests;
  for (const SecretString& each : codes) digests.push_back(recovery_digest(each.reveal()));
  MIST_TRY_VOID(dependencies_.passkeys.add(account, passkey, digests, audit));
  return codes;
}

Result<PasskeyOwner> Passkeys::proved(ChallengeFor purpose, const SecretString& cookie,
                                      std::string_view answer) {
  MIST_TRY(const RelyingParty here, party());
  MIST_TRY(const webauthn::Authentication given, webauthn::parse_authentication(answer));
  MIST_TRY(std::string challenge, taken_challenge(purpose, cookie, given.assertion.client_data));
  MIST_TRY(std::optional<PasskeyOwner> owner, dependencies_.passkeys.find(given.id));
  if (!owner) return unknown_passkey();
  // Section 7.2, step 6: whoever is to be identified by the passkey must have the account's handle, too.
  const bool has_handle = !owner->handle.empty() && given.user_handle == owner->handle;
  if (!has_handle && (purpose == ChallengeFor::SignIn || !given.user_handle.empty()))
    return unknown_passkey();
  MIST_TRY(const crypto::PublicKey key, crypto::PublicKey::parse(owner->passkey.facts.key));
  const auto verification =
      purpose == ChallengeFor::SignIn ? webauthn::Verification::Required : webauthn::Verification::Preferred;
  MIST_TRY(const webauthn::Proved proof, webauthn::check_assertion(given.assertion, key,
                                                                   {.rp_id = here.id,
                                                                    .origin = here.origin,
                                                                    .challenge = std::move(challenge),
                                                                    .verification = verification}));
  // Section 6.1.3: it never changes.
  if (proof.backup_eligible != owner->passkey.facts.backup_eligible) return unknown_passkey();
  MIST_TRY(const bool counted, dependencies_.passkeys.use(owner->passkey.id, proof.counter));
  if (!counted)
    return error(ErrorKind::Forbidden, "the passkey {} was refused: its counter went back",
                 owner->passkey.facts.name)
        .with_hint("somebody may have a copy of it; sign in otherwise, remove it, and make another one")
        .with_detail(CopiedPasskey{.account = owner->account});
  return *std::move(owner);
}

Result<std::string> Passkeys::who(const SecretString& cookie, std::string_view answer) {
  MIST_TRY(PasskeyOwner owner, proved(ChallengeFor::SignIn, cookie, answer));
  return std::move(owner.account);
}

Status Passkeys::confirm(const std::string& account, const SecretString& cookie, std::string_view answer) {
  MIST_TRY(const PasskeyOwner owner, proved(ChallengeFor::Confirm, cookie, answer));
  if (owner.account != account) return unknown_passkey();
  return {};
}

}  // namespace mist::catalog
