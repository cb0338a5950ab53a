#include "action/authoring/push_documents.h"

#include <algorithm>

#include "base/text.h"
#include "oci/attestation.h"
#include "registry/oci_copy.h"

namespace mist::action {
namespace {

class DocumentPusher {
 public:
  DocumentPusher(registry::OciClient& client, const oci::Reference& pushed, oci::Descriptor subject,
                 const Context& context)
      : client_(client), pushed_(pushed), subject_(std::move(subject)), context_(context) {}

  Result<PushedDocument> sbom(std::string text) {
    return attach(oci::DocumentKind::Sbom, oci::kCycloneDxType, std::move(text), {});
  }

  Result<PushedDocument> statement(const std::string& text) {
    return attach(oci::DocumentKind::Provenance, oci::kStatementType, text,
                  {{"in-toto.io/predicate-type", std::string(oci::kSlsaPredicate)}});
  }

  // As cosign finds it.
  Result<PushedDocument> signed_statement(const std::string& text, const crypto::PrivateKey& key) {
    std::string bundle = oci::signed_bundle(text, key);
    const std::string fingerprint = key.public_key().fingerprint().str();
    MIST_TRY(std::optional<PushedDocument> there,
             signed_before(oci::read_attestation(bundle).claim.message, key.public_key()));
    if (!there) {
      MIST_TRY(there, attach(oci::DocumentKind::Provenance, oci::kBundleType, std::move(bundle),
                             {{"dev.sigstore.bundle.content", "dsse-envelope"},
                              {std::string(oci::kPredicateAnnotation), std::string(oci::kSlsaPredicate)},
                              {std::string(oci::kKeyAnnotation), key.public_key().pem()}}));
    }
    there->key = fingerprint;
    return *std::move(there);
  }

 private:
  Result<PushedDocument> attach(oci::DocumentKind kind, std::string_view type, std::string text,
                                oci::Annotations annotations) {
    const oci::Artifact artifact =
        oci::document_artifact(subject_, type, std::move(text), std::move(annotations));
    MIST_TRY(const bool was_there,
             registry::attach_document(client_, pushed_.repository, *pushed_.digest, artifact, context_));
    return PushedDocument{.kind = kind,
                          .manifest = artifact.digest,
                          .type = std::string(type),
                          .key = {},
                          .was_there = was_there};
  }

  // ECDSA gives other bytes each time; the statement is the same.
  Result<std::optional<PushedDocument>> signed_before(const std::string& message,
                                                      const crypto::PublicKey& key) {
    MIST_TRY(const std::vector<registry::AttachedDocument> there,
             registry::list_documents(client_, pushed_.repository, *pushed_.digest, context_));
    const auto same = std::ranges::find_if(there, [&](const registry::AttachedDocument& each) {
      if (!each.tag.empty() || !each.claim || !each.claim->damage.empty()) return false;
      const std::string& statement = each.claim->message;
      return statement == message && key.verify(message, each.claim->signature);
    });
    if (same == there.end()) return std::optional<PushedDocument>();
    return std::optional(PushedDocument{.kind = same->kind,
                                        .manifest = same->manifest,
                                        .type = same->document.media_type,
                                        .key = {},
                                        .was_there = true});
  }

  registry::OciClient& client_;
  const oci::Reference& pushed_;
  oci::Descriptor subject_;
  const Context& context_;
};

}  // namespace

Result<std::vector<PushedDocument>> push_documents(registry::OciClient& client, const oci::Reference& pushed,
                                                   const DocumentOptions& options, const Context& context) {
  MIST_TRY(const registry::RawManifest raw,
           client.manifest(pushed.repository, pushed.digest->str(), context));
  MIST_TRY(const std::string media_type, registry::media_type_of(raw, pushed.str()));
  MIST_TRY(const oci::Document document, oci::parse_document(raw.bytes, raw.content_type, pushed.str()));
  PublishedPackage package{
      .reference = pushed, .about = {}, .parts = options.parts, .tool_version = options.tool_version};
  if (const auto* const manifest = std::get_if<oci::Manifest>(&document))
    package.about = manifest->annotations;
  DocumentPusher pusher(client, pushed, oci::descriptor_of(media_type, raw.bytes), context);
  std::vector<PushedDocument> done;
  const auto push = [&]() -> Status {
    std::optional<crypto::Digest> bill;
    if (options.kinds.contains(oci::DocumentKind::Sbom)) {
      std::string text = sbom_text(package);
      bill = crypto::sha256(text);
      MIST_TRY(PushedDocument one, pusher.sbom(std::move(text)));
      done.push_back(std::move(one));
    }
    if (!options.kinds.contains(oci::DocumentKind::Provenance)) return {};
    const std::string text = provenance_text(package, options.commit, bill ? &*bill : nullptr);
    MIST_TRY(PushedDocument one,
             options.key ? pusher.signed_statement(text, *options.key) : pusher.statement(text));
    done.push_back(std::move(one));
    return {};
  };
  MIST_TRY_VOID(push().in(fmt::format("while attaching documents to {}", pushed.str())));
  return done;
}

}  // namespace mist::action
