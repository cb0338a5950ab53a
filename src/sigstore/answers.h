#pragma once
// The answers of the services of keyless signing: Fulcio's certificates, entries of both versions of Rekor,
// GitHub's tokens, and their errors. All of it is foreign, and nothing is verified here. Pure; any thread.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/result.h"
#include "base/secret.h"
#include "encoding/value.h"

namespace mist::sigstore {

/// The most bytes of an answer.
inline constexpr std::uint64_t kMaxAnswerBytes = std::uint64_t{1} << 20;

/// The kind of error after an answer that is no success.
ErrorKind kind_of_status(int status);

/// The same words without what nobody may see.
using HideSecrets = std::function<std::string(std::string words)>;

/// A service's words about an error: the `message` of its JSON, else its first line. Harmless on a terminal;
/// empty: it says nothing. `hide` gets all of them, before they are cut.
std::string words_of_refusal(std::string_view body, const HideSecrets& hide = {});

struct IssuedChain {
  std::string certificate;           ///< DER
  std::vector<std::string> between;  ///< those that issued it, DER
  bool has_promise_inside = true;    ///< else a log's promise may be beside it
};
/// Fulcio's answer to api/v2/signingCert. Errors: Invalid.
Result<IssuedChain> parse_issued(std::string_view body);

/// Rekor 1's answer about the one entry, as bundles have it (TransparencyLogEntry in protobuf's JSON).
/// Errors: Invalid.
Result<encoding::Value> parse_rekor1_entry(std::string_view body);
/// The same of Rekor 2's.
Result<encoding::Value> parse_rekor2_entry(std::string_view body);

/// The id of an entry in Rekor 1's Location header; empty: there is none.
std::string entry_in_location(std::string_view location);

/// Errors: Invalid.
Result<SecretString> parse_github_token(std::string_view body);

}  // namespace mist::sigstore
