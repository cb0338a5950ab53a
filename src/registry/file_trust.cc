#include "registry/file_trust.h"

#include "base/text.h"
#include "registry/layout.h"

namespace mist::registry {

Result<std::string> signed_bytes(const PackageContent& content) {
  if (const auto* tree = std::get_if<PackageTree>(&content)) return tree->encode();
  MIST_TRY(const auto bytes, std::get<PackageModule>(content).bytes());
  return std::string(*bytes);
}

std::string signature_path(const RegistryRef& reference, const PackageContent& content) {
  const bool is_tree = std::holds_alternative<PackageTree>(content);
  return (is_tree ? directory_path(reference) : module_path(reference)) + std::string(trust::kMinisignEnding);
}

std::string signed_name(const RegistryRef& reference, const PackageContent& content) {
  if (std::holds_alternative<PackageTree>(content))
    return fmt::format("{}/{}", reference.path, reference.version);
  const std::string path = module_path(reference);
  return path.substr(path.rfind('/') + 1);
}

trust::Proof examine_minisign(std::string_view signature, std::string_view bytes, std::string_view name,
                              const trust::Rule& rule) {
  trust::Proof proof{.form = oci::SignatureForm::Minisign,
                     .keys = {},
                     .algorithm = {},
                     .name = {},
                     .signed_at = {},
                     .objection = {}};
  const Result<trust::MinisignClaim> claim = trust::parse_minisign(signature);
  if (!claim) {
    proof.objection = escape_controls(claim.error().to_line());
    return proof;
  }
  proof.signed_at = claim->signed_at;
  for (const trust::TrustedKey& each : rule.keys) {
    if (!trust::verify_minisign(*claim, each.key, bytes)) continue;
    // Or an old version, or another package of the same publisher, could be passed off as this one.
    if (claim->file != name) {
      proof.objection =
          fmt::format("it was made for another file, {}", escape_controls(claim->file.substr(0, 300)));
      return proof;
    }
    proof.keys = {each.key.fingerprint().str()};
    proof.algorithm = crypto::to_string(each.key.kind());
    proof.name = each.name;
    return proof;
  }
  proof.objection = "it is of another file, or of no key that is known here";
  return proof;
}

Status check_file_trust(OciTrust& trust, const RegistryRef& reference, const PackageContent& content,
                        const crypto::Digest& digest, const ReadSignature& read) {
  const std::string package = package_of(reference);
  MIST_TRY(const trust::Rule rule, trust.rule_for(package));
  if (rule.mode != trust::Mode::Require) return {};
  if (rule.keys.empty())
    return error(ErrorKind::Forbidden, "the trust policy's rule {} can't be held for {}", rule.match,
                 PackageRef(reference).display())
        .with_because(fmt::format(
            "packages of {} are signed with minisign, and the rule ({}) names a keyring of OpenPGP's",
            reference.registry, rule.place))
        .with_hint("give the rule keys; a keyring is for charts");
  // With the version: what was proved of these bytes under one name doesn't vouch for another one.
  const trust::Subject subject{fmt::format("{}:{}", package, reference.version), digest};
  MIST_TRY(const bool is_known, trust.suffices(subject, rule));
  if (is_known) return {};
  MIST_TRY(const std::string bytes, signed_bytes(content));
  MIST_TRY(const std::optional<std::string> signature, read(signature_path(reference, content)));
  std::vector<trust::Proof> proofs;
  if (signature) proofs.push_back(examine_minisign(*signature, bytes, signed_name(reference, content), rule));
  return trust.judge_and_record(subject, rule, proofs);
}

}  // namespace mist::registry
