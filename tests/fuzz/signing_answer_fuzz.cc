// The foreign input of keyless signing: its configuration, identity tokens, answers of Fulcio, of both
// versions of Rekor, of timestamp authorities. The first line says which.
#include "base/text.h"
#include "crypto/signing_certificate.h"
#include "encoding/json.h"
#include "oci/attestation.h"
#include "sigstore/answers.h"
#include "sigstore/identity_token.h"
#include "sigstore/signing_config.h"
#include "targets.h"

namespace mist::fuzz {
namespace {

const WallTime kSigningNow{std::chrono::seconds(1'700'000'000)};

void configuration(std::string_view bytes) {
  const auto config = sigstore::SigningConfig::parse(bytes, "fuzz");
  if (!config.ok()) return check_error(config.error());
  const auto chosen = config->choose(kSigningNow);
  if (!chosen.ok()) return check_error(chosen.error());
  if (!sigstore::is_safe_url(chosen->authority.url)) fail("a token may go by http", chosen->authority.url);
  if (chosen->logs.empty()) fail("a signature without a log", "");
}

void token(std::string_view bytes) {
  const auto parsed = sigstore::IdentityToken::parse(bytes, "fuzz");
  if (!parsed.ok()) return check_error(parsed.error());
  if (escape_controls(parsed->describe()) != parsed->describe())
    fail("a token that steers the terminal", parsed->describe());
  if (const Status status = parsed->check("sigstore", kSigningNow); !status.ok()) check_error(status.error());
  const std::string& text = parsed->text().reveal();
  if (parsed->without_token(text).find(text) != std::string::npos) fail("a token in words of others", "");
}

// A bundle with it can be read again, as far as it is of the right form.
void entry(const Result<encoding::Value>& read) {
  if (!read.ok()) return check_error(read.error());
  const std::string bundle =
      oci::keyless_bundle("{}", "signature", {.certificate = "x", .entries = {*read}, .timestamps = {}});
  const oci::Attestation again = oci::read_bundle(bundle);
  if (!again.claim.keyless || again.claim.keyless->entries.size() != 1) fail("a lost entry", bundle);
}

}  // namespace

void signing_answer(std::string_view bytes) {
  Input input(bytes);
  const std::string_view kind = input.line();
  const std::string_view rest = input.rest();
  if (kind == "config") {
    configuration(rest);
  } else if (kind == "token") {
    token(rest);
  } else if (kind == "certificate") {
    const auto issued = sigstore::parse_issued(rest);
    if (!issued.ok()) check_error(issued.error());
  } else if (kind == "rekor1") {
    entry(sigstore::parse_rekor1_entry(rest));
  } else if (kind == "rekor2") {
    entry(sigstore::parse_rekor2_entry(rest));
  } else if (kind == "timestamp") {
    (void)crypto::timestamp_refusal(rest);
  } else {
    if (const std::string words = sigstore::words_of_refusal(rest); escape_controls(words) != words)
      fail("words that steer the terminal", words);
    if (const std::string id = sigstore::entry_in_location(rest);
        id.find_first_of("/?#.%") != std::string::npos)
      fail("an id that leads elsewhere", id);
    if (const auto token = sigstore::parse_github_token(rest); !token.ok()) check_error(token.error());
  }
}

}  // namespace mist::fuzz
