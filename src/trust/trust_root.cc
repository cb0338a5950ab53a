#include "trust/trust_root.h"

#include "base/text.h"
#include "encoding/json.h"

namespace mist::trust {
namespace {

using encoding::Value;

constexpr std::string_view kTrustRootType = "application/vnd.dev.sigstore.trustedroot";
constexpr int kTrustRootDepth = 16;
constexpr std::size_t kMostEntries = 100;

class TrustRootReader {
 public:
  explicit TrustRootReader(const std::string& file) : file_(file) {}

  Error fail(std::string_view member, std::string_view why) const {
    return error(ErrorKind::Invalid, "the trust root {} can't be used", file_)
        .with_because(fmt::format("{}: {}", member, why))
        .with_hint("it is Sigstore's trusted_root.json; `cosign trusted-root create` writes one");
  }

  template <typename Item, typename Read>
  Result<std::vector<Item>> list(const Value& document, std::string_view key, const Read& read) const {
    std::vector<Item> items;
    const Value* const value = document.find(key);
    if (value == nullptr || value->is_null()) return items;
    if (!value->is_array() || value->size() > kMostEntries)
      return fail(key, fmt::format("it is not a list of at most {}", kMostEntries));
    for (const Value& each : value->as_array()) {
      const std::string place = fmt::format("{}[{}]", key, items.size());
      if (!each.is_object()) return fail(place, "it is not an object");
      MIST_TRY(Item item, read(each, place));
      items.push_back(std::move(item));
    }
    return items;
  }

  Result<TrustedLog> log(const Value& value, const std::string& place) const {
    const Value* const given = value.find("publicKey");
    std::string der;
    if (given == nullptr || !base64_decode(given->string_at("rawBytes"), der) || der.empty())
      return fail(place, "it has no publicKey.rawBytes in base64");
    Result<crypto::PublicKey> key = crypto::PublicKey::from_der(der);
    if (!key) return fail(place, key.error().to_line());
    std::string id;
    if (!base64_decode(value.string_at({"logId", "keyId"}), id) || id.empty())
      return fail(place, "it has no logId.keyId in base64");
    MIST_TRY(Period period, this->period(*given, place));
    // Without a beginning nobody said since when it counts.
    if (!period.from) return fail(place, "publicKey.validFor has no start");
    return TrustedLog{std::move(id), *std::move(key), period};
  }

  Result<TrustedAuthority> authority(const Value& value, const std::string& place) const {
    TrustedAuthority authority;
    const Value* const certificates = value.at_path({"certChain", "certificates"});
    if (certificates == nullptr || !certificates->is_array() || certificates->empty() ||
        certificates->size() > kMostEntries)
      return fail(place, "it has no certChain.certificates");
    for (const Value& each : certificates->as_array()) {
      std::string der;
      if (!base64_decode(each.string_at("rawBytes"), der) || der.empty())
        return fail(place, "a certificate of its chain has no rawBytes in base64");
      authority.chain.push_back(std::move(der));
    }
    MIST_TRY(authority.period, period(value, place));
    return authority;
  }

 private:
  Result<Period> period(const Value& value, const std::string& place) const {
    Period period;
    const Value* const given = value.find("validFor");
    if (given == nullptr || given->is_null()) return period;
    MIST_TRY(period.from, end(*given, "start", place));
    MIST_TRY(period.until, end(*given, "end", place));
    return period;
  }

  Result<std::optional<WallTime>> end(const Value& period, std::string_view key,
                                      const std::string& place) const {
    const Value* const given = period.find(key);
    if (given == nullptr || given->is_null()) return std::optional<WallTime>();
    const std::optional<WallTime> time =
        given->is_string() ? parse_time(given->as_string()) : std::optional<WallTime>();
    if (!time) return fail(place, fmt::format("validFor.{} is no time", key));
    return time;
  }

  const std::string& file_;
};

}  // namespace

Result<TrustRoot> TrustRoot::parse(std::string_view text, const std::string& file) {
  MIST_TRY(const Value document,
           encoding::parse_json(text, {.strict = true, .max_depth = kTrustRootDepth, .file = file}));
  const TrustRootReader reader(file);
  if (!document.string_at("mediaType").starts_with(kTrustRootType))
    return reader.fail("mediaType", "it is not that of a trust root");
  const auto log = [&](const Value& value, const std::string& place) { return reader.log(value, place); };
  const auto authority = [&](const Value& value, const std::string& place) {
    return reader.authority(value, place);
  };
  TrustRoot root{.digest = crypto::sha256(text),
                 .authorities = {},
                 .logs = {},
                 .certificate_logs = {},
                 .timestamp_authorities = {}};
  MIST_TRY(root.authorities, reader.list<TrustedAuthority>(document, "certificateAuthorities", authority));
  MIST_TRY(root.logs, reader.list<TrustedLog>(document, "tlogs", log));
  MIST_TRY(root.certificate_logs, reader.list<TrustedLog>(document, "ctlogs", log));
  MIST_TRY(root.timestamp_authorities,
           reader.list<TrustedAuthority>(document, "timestampAuthorities", authority));
  if (root.authorities.empty()) return reader.fail("certificateAuthorities", "it has none");
  if (root.logs.empty()) return reader.fail("tlogs", "it has none");
  return root;
}

}  // namespace mist::trust
