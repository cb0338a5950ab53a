#include "action/authoring/push_documents.h"

#include <algorithm>

#include "base/text.h"
#include "oci/attestation.h"

namespace mist::action {
namespace {

class DocumentMaker {
 public:
  DocumentMaker(registry::OciClient& client, const oci::Reference& pushed, oci::Descriptor subject,
                const Context& context)
      : client_(client), pushed_(pushed), subject_(std::move(subject)), context_(context) {}

  MadeDocument sbom(std::string text) const {
    return made(oci::DocumentKind::Sbom, oci::kCycloneDxType, std::move(text), {});
  }

  MadeDocument statement(const std::string& text) const {
    return made(oci::DocumentKind::Provenance, oci::kStatementType, text,
                {{"in-toto.io/predicate-type", std::string(oci::kSlsaPredicate)}});
  }

  // As cosign finds it.
  Result<MadeDocument> signed_statement(const std::string& text, const registry::StatementSigner& signer,
                                        bool is_new) const {
    std::optional<MadeDocument> document;
    if (!is_new) {
      MIST_TRY(document, signed_before(oci::statement_message(text), signer));
    }
    if (!document) {
      MIST_TRY(std::string bundle, signer.sign(text, context_));
      document = made(oci::DocumentKind::Provenance, oci::kBundleType, std::move(bundle),
                      oci::bundle_annotations(oci::kSlsaPredicate, signer.annotations));
    }
    document->about.key = signer.key;
    document->about.identity = signer.identity;
    return *std::move(document);
  }

 private:
  MadeDocument made(oci::DocumentKind kind, std::string_view type, std::string text,
                    oci::Annotations annotations) const {
    oci::Artifact artifact = oci::document_artifact(subject_, type, std::move(text), std::move(annotations));
    PushedDocument about{.kind = kind, .manifest = artifact.digest, .type = std::string(type), .key = {}};
    return {std::move(about), std::move(artifact)};
  }

  // A signature has other bytes each time; the statement is the same.
  Result<std::optional<MadeDocument>> signed_before(const std::string& message,
                                                    const registry::StatementSigner& signer) const {
    MIST_TRY(const std::vector<registry::AttachedDocument> there,
             registry::list_documents(client_, pushed_.repository, *pushed_.digest, context_));
    const auto same = std::ranges::find_if(there, [&](const registry::AttachedDocument& each) {
      if (!each.tag.empty() || !each.claim || !each.claim->damage.empty()) return false;
      const std::string& statement = each.claim->message;
      return statement == message && signer.made(*each.claim);
    });
    if (same == there.end()) return std::optional<MadeDocument>();
    PushedDocument about{.kind = same->kind,
                         .manifest = same->manifest,
                         .type = same->document.media_type,
                         .key = {},
                         .was_there = true};
    return std::optional(MadeDocument{std::move(about), std::nullopt});
  }

  registry::OciClient& client_;
  const oci::Reference& pushed_;
  oci::Descriptor subject_;
  const Context& context_;
};

}  // namespace

Result<std::vector<MadeDocument>> make_documents(registry::OciClient& client, const oci::Reference& pushed,
                                                 const std::string& manifest, const DocumentOptions& options,
                                                 const Context& context) {
  MIST_TRY(const oci::Document document, oci::parse_document(manifest, oci::kManifestType, pushed.str()));
  PublishedPackage package{
      .reference = pushed, .about = {}, .parts = options.parts, .tool_version = options.tool_version};
  if (const auto* const about = std::get_if<oci::Manifest>(&document)) package.about = about->annotations;
  const DocumentMaker maker(client, pushed, oci::descriptor_of(oci::kManifestType, manifest), context);
  std::vector<MadeDocument> made;
  std::optional<crypto::Digest> bill;
  if (options.kinds.contains(oci::DocumentKind::Sbom)) {
    std::string text = sbom_text(package);
    bill = crypto::sha256(text);
    made.push_back(maker.sbom(std::move(text)));
  }
  if (!options.kinds.contains(oci::DocumentKind::Provenance)) return made;
  const std::string text = provenance_text(package, options.commit, bill ? &*bill : nullptr);
  if (!options.signer) {
    made.push_back(maker.statement(text));
    return made;
  }
  MIST_TRY(MadeDocument one, maker.signed_statement(text, *options.signer, options.is_new)
                                 .in(fmt::format("while signing the provenance of {}", pushed.str())));
  made.push_back(std::move(one));
  return made;
}

Result<std::vector<PushedDocument>> attach_documents(registry::OciClient& client,
                                                     const oci::Reference& pushed,
                                                     std::vector<MadeDocument> documents,
                                                     const Context& context) {
  std::vector<PushedDocument> done;
  for (MadeDocument& each : documents) {
    if (each.artifact) {
      MIST_TRY(each.about.was_there,
               registry::attach_document(client, pushed.repository, *pushed.digest, *each.artifact, context)
                   .in(fmt::format("while attaching documents to {}", pushed.str())));
    }
    done.push_back(std::move(each.about));
  }
  return done;
}

}  // namespace mist::action
